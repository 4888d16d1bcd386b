/** The ends of sentences in every language of the voices. A bar marks each boundary. */
import { describe, expect, it } from "vitest";
import { splitSentences } from "../../../src/narration/text/cutting/sentences.ts";
import { planText } from "../../../src/narration/text/plan-text.ts";

const CASES: ReadonlyArray<readonly [language: string, text: string]> = [
  ["en", "It was late. |Nobody came."],
  ["en", "Mr. Smith and Dr. J. K. Brown met Mrs. Jones at St. Mary's. |They talked."],
  ["en", "“Stop!” he cried. |“Why should I?” she asked, and went on."],
  ["en", '"Stop!" he cried. |"No." |He went.'],
  ["en", "‘What is it?’ |She looked up."],
  ["en", "He came at 5 p.m. and left at 7 a.m. |Nobody saw him."],
  ["en", "Apples, pears, etc. are fruit. |Beans, peas, etc. |They are not."],
  ["en", "The U.S. Army has 1.5 million, e.g. in No. 5 and fig. 3.2. |That is all."],
  ["en", "“Do you?” |“No. |I never did.”"],
  ["en", "Wait... what? |Wait… |What now?!"],
  ["en", "She earns $3.50 an hour. |3 people know."],
  ["en", "So do I. |They said nothing."],
  ["en", "See example.com for more. |It is free (mostly.) |Really."],
  ["en", "It ended in 1999. |A year later it began again."],
  ["en", "1. Mix the flour. |Then wait."],
  ["en", "II. The Pool of Tears"],
  ["en", "9.5.10. Use of memory"],
  ["en", "It grew by 9.5. |Then it fell."],
  ["en", "Oh! . . . by the way, Lane. |I see . . . well . . . you know. . . . |Then go."],
  ["en", "It was held in 164 Mont. 30 and Pub. L. 99-514, Va. Code  5, Cal.  12. |It stands."],
  ["en", "He came from Montana. |30 people knew."],
  ["es", "¿Quién eres? —preguntó Ana."],
  ["es", "¿Vienes? |¡Claro que sí! |Vamos."],
  ["es", "—Sí. |—Entonces, ven."],
  ["es", "El Sr. García vive en EE. UU. desde 1990. |Es médico."],
  ["es", "La Dra. Ruiz, de la Av. Reforma, n.º 5, salió. |Luego volvió."],
  ["es", "Hay pan, queso, etc. |Comamos."],
  ["es", "Tengo que ir. |Después vuelvo."],
  ["pt", "O Sr. Silva chegou às 10h30. |A Sra. Souza não."],
  ["pt", "Ele disse: “Não!” |E saiu."],
  ["pt", "Custa R$ 1.500,00. |É caro."],
  ["id", "Bpk. Budi dan Dr. Sari tinggal di Jl. Merdeka No. 10. |Mereka guru."],
  ["id", "Buku, pensil, dll. ada di meja. |Ambil saja!"],
  ["id", "Ada apel, jeruk, dll. |Semua segar."],
  ["id", "“Mau ke mana?” tanya Ani. |“Ke pasar.”"],
  ["zh", "今天天气很好。|我们去公园吧！|好吗？|好。"],
  ["zh", "他说：“你好！”|然后走了。"],
  ["zh", "我想……也许吧。|算了。"],
  ["zh", "他沉默了……|“走吧。”"],
  ["zh", "版本3.5已发布。|请更新。"],
  ["ja", "今日はいい天気です。|散歩しましょう！|はい。"],
  ["ja", "「行くよ。」と彼は言った。|「うん。」|彼女は頷いた。"],
  ["ja", "それは……まあ、いいか。|終わり。"],
  ["ja", "本当？！|嘘だろう。"],
  ["mixed", "我用Node.js写程序。|It works. |真的吗？|Yes!"],
  ["mixed", "He said OK.|然后他走了。"],
  ["mixed", "She said 你好。|Then she left."],
  ["mixed", "Visit www.example.com. |今すぐ。|¡Ahora!"],
];

it("a long paragraph is not cut inside a quotation if another cut is possible", () => {
  const speech = "「彼は言った。それから帰った。また来た。」そう書いてある。とても静かな夜であった。";
  const { parts } = planText({
    text: speech.repeat(40),
    format: "plain",
    speed: 1,
    pauseSeconds: 0.6,
  });
  expect(parts.length).toBeGreaterThan(3);
  for (const { text } of parts) {
    expect([...text.matchAll(/「/g)]).toHaveLength([...text.matchAll(/」/g)].length);
  }
});

describe("sentences", () => {
  it.each(CASES)("%s: %s", (_, marked) => {
    const sentences = marked.split("|").map((sentence) => sentence.trim());
    expect(splitSentences(marked.replaceAll("|", ""))).toEqual(sentences);
  });

  it("do not end after a single letter, because it may be an initial, which misses one boundary in fifty", () => {
    expect(splitSentences("Ele toma vitamina C. Depois descansa.")).toHaveLength(1);
  });

  it("end at a deliberate line break, and with a paragraph", () => {
    expect(splitSentences("How doth the little crocodile\nImprove his shining tail,\n\nAnd pour.")).toEqual([
      "How doth the little crocodile",
      "Improve his shining tail,",
      "And pour.",
    ]);
  });

  it("lose nothing and repeat nothing", () => {
    for (const [, marked] of CASES) {
      const text = marked.replaceAll("|", "");
      expect(splitSentences(text).join("").replaceAll(/\s/g, "")).toBe(text.replaceAll(/\s/g, ""));
    }
  });
});
