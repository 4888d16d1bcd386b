/** Speaker labels in scripts and transcripts, and text that is neither a label nor a direction. */
import { describe, expect, it } from "vitest";
import type { TextFormat } from "../../../src/files/input-format.ts";
import { planText } from "../../../src/narration/text/plan-text.ts";
import type { NarrationPlan, PlanRequest } from "../../../src/narration/text/plan-types.ts";

const VOICES = { Anna: "felix_zh", Ben: "kian_en_zh" } as const;
const plan = (
  text: string,
  voices: PlanRequest["speakers"] = VOICES,
  format: TextFormat = "plain",
): NarrationPlan => planText({ text, format, speed: 1, pauseSeconds: 0.6, speakers: voices });
const turns = (text: string, format: TextFormat = "plain"): string[] =>
  plan(text, VOICES, format).parts.map(
    ({ voice, text: words }) => `${voice ?? "-"}: ${words.replaceAll("\n\n", " / ")}`,
  );

const TALK = "ANNA: One.\n\nTwo.\n\nBEN: Three.\n\nANNA: Four.\n\nBEN: Five.\n\nSix.";

describe("a turn", () => {
  it("lasts until the next label if most paragraphs begin with one", () => {
    expect(turns(TALK)).toEqual([
      "felix_zh: One. / Two.",
      "kian_en_zh: Three.",
      "felix_zh: Four.",
      "kian_en_zh: Five. / Six.",
    ]);
  });

  it("ends at a label of any other speaker, and at a heading", () => {
    const text =
      "# A\n\nANNA: One.\n\nCARL: Two.\n\nThree.\n\nBEN: Four.\n\nANNA: Five.\n\n# B\n\nSix.\n\nANNA: Seven.";
    expect(turns(text, "markdown")).toEqual([
      "-: A",
      "felix_zh: One.",
      "-: CARL: Two. / Three.",
      "kian_en_zh: Four.",
      "felix_zh: Five.",
      "-: B / Six.",
      "felix_zh: Seven.",
    ]);
  });

  it("ends with its paragraph if labels are few", () => {
    const text = "ANNA: One.\n\nTwo.\n\nThree.\n\nFour.\n\nBEN: Five.\n\nSix.\n\nSeven.";
    expect(turns(text)).toEqual([
      "felix_zh: One.",
      "-: Two. / Three. / Four.",
      "kian_en_zh: Five.",
      "-: Six. / Seven.",
    ]);
  });
});

describe("the script of a film", () => {
  const SCENE =
    "INT. HOUSE - NIGHT\n\nRain.\n\nANNA\nOne.\n\nBEN\n(shouting over\nthe wind)\nTwo.\n\nThey go (slowly).\n\n";

  it("has action below a turn, which the narrator speaks, and directions of several lines", () => {
    expect(turns(`${SCENE}ANNA ^\nThree.\n\nBEN (O.S.)\nFour.\n\nThe door bangs.`)).toEqual([
      "-: INT. HOUSE - NIGHT / Rain.",
      "felix_zh: One.",
      "kian_en_zh: Two.",
      "-: They go (slowly).",
      "felix_zh: Three.",
      "kian_en_zh: Four.",
      "-: The door bangs.",
    ]);
  });

  it("has names with several directions, and headings of scenes are no names", () => {
    const text = `${SCENE}ANNA (V.O.) (CONT'D)\nThree.\n\nEXT. RIVER - DAY\n\nINT. HOUSE - DAY\n\nEXT. RIVER - DAY\n\nRain.`;
    expect(turns(text).slice(-2)).toEqual([
      "felix_zh: Three.",
      "-: EXT. RIVER - DAY / INT. HOUSE - DAY / EXT. RIVER - DAY / Rain.",
    ]);
    expect(plan(text).voicelessNames).toBeUndefined();
    expect(plan(text, {}).voicelessNames).toBeUndefined();
  });

  it("has labels that occur once", () => {
    const once = "EXT. RIVER - DAY\n\nANNA (V.O.)\nOne.\n\nA boat comes down the river.";
    expect(turns(once)).toEqual(["-: EXT. RIVER - DAY", "felix_zh: One.", "-: A boat comes down the river."]);
  });

  it("is none without the heading of a scene", () => {
    const play = `${SCENE.replace("INT. HOUSE", "THE HOUSE")}ANNA\nThree.\n\nBEN\nFour.\n\nFive.`;
    expect(turns(play).at(-1)).toBe("kian_en_zh: Four. / Five.");
  });
});

describe("a name of `voices` alone on its line", () => {
  it.each([
    ["in its paragraph", "Anna\n\nOne.\n\nBen\n\nTwo.\n\nanna\n\nThree.\n\nBen\n\nFour."],
    ["above its words", "Anna\nOne.\n\nBen\nTwo.\n\nAnna\nThree.\n\nBen\nFour."],
    ["in a text without blank lines", "Anna\nOne.\nBen\nTwo.\nAnna\nThree.\nBen\nFour."],
  ])("is a label in any case: %s", (_, text) => {
    expect(turns(text)).toEqual([
      "felix_zh: One.",
      "kian_en_zh: Two.",
      "felix_zh: Three.",
      "kian_en_zh: Four.",
    ]);
  });

  it("is joined by other recurring names, which are reported", () => {
    const text = "Anna\nOne.\n\nKing\nTwo.\n\nAnna\nThree.\n\nKing\nFour.\n\nKing\nFive.";
    expect(turns(text)[1]).toBe("-: King\nTwo.");
    expect(plan(text).voicelessNames).toEqual([{ name: "King", count: 3 }]);
  });

  it.each([
    ["a heading", "# Anna\n\nIt rained.\n\n# Ben\n\nIt snowed.\n\n# Anna\n\nShe left.", "markdown"],
    ["the end of a wrapped line", "They waited for\nAnna\nand for\nAnna\nagain, and went.", "plain"],
    ["once", "Anna\n\nIt rained on the house, and on all the others.", "plain"],
  ] as const)("is no label if it is %s", (_, text, format) => {
    expect(turns(text, format).every((turn) => turn.startsWith("-"))).toBe(true);
  });
});

describe("a speaker with settings", () => {
  const slow = { voice: "felix_zh", speed: 0.5, pitch: -2 } as const;

  it("differs from one with the same voice alone, and speaks at its own speed", () => {
    const { parts } = plan("ANNA: One and two.\n\nBEN: One and two.", { Anna: "felix_zh", Ben: slow });
    expect(parts.map(({ voice, settings }) => [voice, settings])).toEqual([
      ["felix_zh", undefined],
      ["felix_zh", { speed: 0.5, pitch: -2 }],
    ]);
    expect(parts[1]?.estimatedSeconds).toBe(2 * (parts[0]?.estimatedSeconds ?? 0));
  });

  it("shares parts with a speaker of the same voice and settings", () => {
    const { parts } = plan("ANNA: One.\n\nBEN: Two.", { Anna: slow, Ben: { ...slow } });
    expect(parts.map(({ text }) => text)).toEqual(["One.\n\nTwo."]);
  });
});

describe("a label", () => {
  it.each([
    ["says how it is spoken", "ANNA (whispering): One.\n\nBen [aside]: Two."],
    ["ends with a full stop and recurs", "Anna. One.\n\nBen. Two.\n\nAnna. One.\n\nBen. Two."],
    ["stands alone on its line", "ANNA\nOne.\n\nBEN (CONT'D)\nTwo.\n\nANNA\nOne.\n\nBEN\nTwo."],
    ["stands alone with a full stop", "ANNA.\nOne.\n\nBEN.\nTwo.\n\nANNA.\nOne.\n\nBEN.\nTwo."],
  ])("%s", (_, text) => {
    expect(turns(text).slice(0, 2)).toEqual(["felix_zh: One.", "kian_en_zh: Two."]);
  });

  it("is not a sentence of one word that occurs once", () => {
    expect(turns("Anna. She was there.\n\nNobody saw her.")).toEqual([
      "-: Anna. She was there. / Nobody saw her.",
    ]);
  });

  it.each([
    ["a dialogue", "Anna: Good morning.\n\nBen: Coffee?\n\nAnna: Yes.\n\nBen: Here.", { Anna: 2, Ben: 2 }],
    ["questions and answers", "Q: Why?\nA: So.\nQ: When?\nA: Now.", { Q: 2, A: 2 }],
    ["lines in Markdown", "**Anna:** Hi.\n\n**Ben:** Hi.\n\n**Anna:** Bye.", { Anna: 2, Ben: 1 }],
    ["Chinese", "小明：你好。\n\n小红：你好。\n\n小明：再见。", { 小明: 2, 小红: 1 }],
  ])("is reported of %s without any voices", (_, text, names) => {
    const { voicelessNames = [] } = planText({
      text,
      format: "markdown",
      speed: 1,
      pauseSeconds: 0.6,
    });
    expect(Object.fromEntries(voicelessNames.map(({ name, count }) => [name, count]))).toEqual(names);
  });

  it("is reported of one chapter of a book, with its commas, the most frequent first", () => {
    const prose = "It rained all day, and nobody came.\n\n".repeat(9);
    const talk =
      "Omar: Why?\n\nMira B. Reed, Psy.D: So it is.\n\nOmar: When?\n\nMira B. Reed, Psy.D: Now, or\nlater, if I\nam asked.\n\n";
    const book = `# One\n\n${prose}# Two\n\n${talk}Omar: Yes.\n\n# Three\n\n${prose}`;
    expect(planText({ text: book, format: "markdown", speed: 1, pauseSeconds: 0.6 }).voicelessNames).toEqual([
      { name: "Omar", count: 3 },
      { name: "Mira B. Reed, Psy.D", count: 2 },
    ]);
  });

  it.each([
    ["a list of terms", "Salt: two grams.\n\nSugar: one spoon.\n\nFlour: a cup.\n\nMilk: some."],
    [
      "prose with a few labels",
      "It rained.\n\nNote: bring a coat.\n\nWe left.\n\nTip: go early.\n\nNote: or late.",
    ],
    [
      "options in a manual",
      `${"It is a tool.\n\n".repeat(9)}${"Type: string\n\nDefault: none\n\n".repeat(3)}`,
    ],
    ["sentences with a comma", "Well, then, he said: I go.\n\nYes, she said: go.\n\n".repeat(3)],
    ["one speaker", "Anna: One.\n\nAnna: Two.\n\nAnna: Three."],
    ["times", "10:30 Tea.\n\n11:30 Lunch.\n\n10:30 Tea."],
  ])("is not reported of %s", (_, text) => {
    const plan = planText({ text, format: "markdown", speed: 1, pauseSeconds: 0.6 });
    expect(plan).not.toHaveProperty("voicelessNames");
  });

  it("is reported if it is in capitals and has no voice", () => {
    const { voicelessNames } = plan("ANNA: One.\n\nNARRATOR: Two.\n\nNARRATOR: Three.\n\nNote: four.");
    expect(voicelessNames).toEqual([{ name: "NARRATOR", count: 2 }]);
    expect(plan("ANNA: One.")).not.toHaveProperty("voicelessNames");
  });
});

describe("a direction", () => {
  it.each([
    ["in brackets", "ANNA: One.\n\n[They leave.]\n\nTwo."],
    ["in parentheses and italics", "ANNA: One.\n\n_(They leave.)_\n\nTwo."],
    ["in brackets of any length", `ANNA: One. [They leave,\n${"slowly, ".repeat(60)}.] Two.`],
    ["in parentheses and italics, alone below a label", "ANNA\n\n_(They leave.)_ One.\n\nANNA\n\nTwo."],
    ["in parentheses between turns", `${TALK}\n\n(They leave.)\n\nANNA: Seven.`],
  ])("is not spoken, and reported: %s", (_, text) => {
    const { parts, unspoken } = plan(text);
    expect(parts.map((part) => part.text).join(" ")).not.toContain("leave");
    expect(unspoken).toMatchObject([{ kind: "direction", count: 1 }]);
  });

  it.each(["(softly, to Ben) One.", "(Laughing) One.", "[to Ben] One.", "[ANNA turns.] One."])(
    "is not spoken at the beginning of a turn: %s",
    (words) => {
      const { parts, unspoken } = plan(`ANNA: ${words}`);
      expect(parts.map((part) => part.text)).toEqual(["One."]);
      expect(unspoken).toMatchObject([{ kind: "direction", count: 1 }]);
    },
  );

  it.each([
    ["in brackets", "ANNA: One. [She rises.] Two. [aside] Three. [Exit]", "One. Two. Three."],
    ["in parentheses and italics", "ANNA: One _(softly)_ two. (_Exit._)", "One two."],
    [
      "in parentheses between labelled turns",
      `${TALK}\n\nANNA: One. (laughing) Two. (Pause.) Three.`,
      "One. Two. Three.",
    ],
    ["in Japanese", `${TALK}\n\nANNA：（怒って）はい。（笑）いいえ。`, "はい。いいえ。"],
  ])("is not spoken inside a turn: %s", (_, text, words) => {
    expect(plan(text).parts.at(-1)?.text).toBe(words);
  });

  it.each([
    ["a word of the editor", "ANNA: One [old] man said [sic] so."],
    ["words in parentheses where labels are few", "ANNA: One. (softly) Two.\n\nThree.\n\nFour.\n\nFive."],
    ["a sentence in parentheses", `${TALK}\n\nANNA: One. (I never liked him.) Two (or so).`],
    ["in italics in the narrator's words", "ANNA: One.\n\nHe _(softly)_ left.\n\nIt was late.\n\nNo."],
  ])("is not %s inside a turn", (_, text) => {
    expect(plan(text).unspoken).toEqual([]);
  });

  it("is omitted from Markdown, too", () => {
    const { parts, unspoken } = plan("**ANNA:** One.\n\n*(They leave.)*\n\nTwo.", VOICES, "markdown");
    expect(parts.map((part) => part.text)).toEqual(["One.", "Two."]);
    expect(unspoken).toMatchObject([{ kind: "direction", count: 1 }]);
  });

  it.each([
    ["parentheses in a text with few labels", "ANNA: One.\n\n(They had left.)\n\nTwo.\n\nThree."],
    ["brackets in a line", "ANNA: One [old] man left."],
    ["a sentence in parentheses", "ANNA: (I never liked him.) One."],
    ["all that somebody says", "ANNA: (softly)"],
    ["in a line of somebody without a voice", "CARL: (softly) One."],
  ])("is not %s", (_, text) => {
    expect(plan(text).unspoken).toEqual([]);
  });

  it("is spoken like other text if no voices are given", () => {
    const text = "ANNA (softly): One.\n\n_(They leave.)_\n\n[Exit.]";
    expect(plan(text, {}).parts.map((part) => part.text)).toEqual([
      "ANNA (softly): One.\n\n(They leave.)\n\n[Exit.]",
    ]);
  });
});

describe("a name with other accents", () => {
  const voices = { TOMÁS: "cedric_en_zh" } as const;

  it("is the same speaker", () => {
    const { parts, silentSpeakers } = plan("Tomas: One.\n\nTOMÁS: Two.", voices);
    expect(parts.map(({ text, voice }) => [text, voice])).toEqual([["One.\n\nTwo.", "cedric_en_zh"]]);
    expect(silentSpeakers).toEqual([]);
  });

  it("is another speaker if both are given", () => {
    const both = { TOMÁS: "cedric_en_zh", TOMAS: "kian_en_zh" } as const;
    expect(plan("Tomas: One.\n\nTOMÁS: Two.", both).parts.map(({ voice }) => voice)).toEqual([
      "kian_en_zh",
      "cedric_en_zh",
    ]);
  });

  it("is not a name with other letters", () => {
    expect(plan("Thomas: One.", voices).parts[0]?.voice).toBeUndefined();
  });
});

describe("a name that stands above its words", () => {
  const script = (form: (name: string) => string): string =>
    ["ANNA", "BEN", "ANNA", "BEN", "ANNA", "BEN"].map((name) => `${form(name)}\nIt rains.`).join("\n\n");

  it.each([
    ["in capitals", (name: string) => name],
    ["with a colon", (name: string) => `${name}:`],
    ["with a direction", (name: string) => `${name} (O.S.)`],
  ])("is told without voices, and stays on its line: %s", (_, form) => {
    const { voicelessNames, parts } = plan(script(form), {});
    expect(voicelessNames).toMatchObject([
      { name: "ANNA", count: 3 },
      { name: "BEN", count: 3 },
    ]);
    expect(parts[0]?.text).toMatch(/^ANNA.*\nIt rains\.\n\nBEN/);
  });

  it("is told of two lines in the script of a film", () => {
    const text = `INT. HOUSE - DAY\n\n${"ANNA\nIt rains.\n\nBEN\nIt does.\n\n".repeat(2)}`;
    expect(plan(text, {}).voicelessNames?.map(({ name }) => name)).toEqual(["ANNA", "BEN"]);
  });

  it("is told in a text whose labels and words share a paragraph", () => {
    const text = "MR. REED:\n  Who was it?\nMS. FIELD:\n  I was.\n".repeat(3);
    expect(plan(text, {}).voicelessNames?.map(({ name }) => name)).toEqual(["MR. REED", "MS. FIELD"]);
  });

  it.each([
    ["headings in capitals", "RAIN\nIt fell.\n\nRAIN\nIt fell.\n\nRAIN\nIt fell."],
    ["words that introduce lists", "Cost:\n- one\n- two\n\nCost:\n- one\n\nCost:\n- two"],
  ])("is no name: %s", (_, text) => {
    expect(plan(text, {}).voicelessNames).toBeUndefined();
  });

  it("keeps a voiceless name on its line beside names with voices", () => {
    const said = turns(`INT. HOUSE - DAY\n\n${script((name) => name)}${"\n\nCARL\nIt does.".repeat(3)}`);
    expect(said.at(-1)).toMatch(/^-: CARL\nIt does\./);
  });
});

it("a label with a full stop may be a letter of voices inside a paragraph, as in a court", () => {
  const text = "Q. Who was it?\nA. I was.\nIt rained.\nQ. When?\nA. In May.";
  const { parts } = plan(text, { Q: "felix_zh", A: "kian_en_zh" });
  expect(parts.map(({ voice, text: words }) => `${voice}: ${words}`)).toEqual([
    "felix_zh: Who was it?",
    "kian_en_zh: I was.\n\nIt rained.",
    "felix_zh: When?",
    "kian_en_zh: In May.",
  ]);
});

it.each(["Yes", "Mr", "BY MS"])("a label with a full stop is not %s, however often it recurs", (word) => {
  const text = `Anna\n\n${word}. Reed it was.\n\nBen\n\nIt was.\n\n`.repeat(4);
  const { voicelessNames = [], parts } = plan(text);
  expect(voicelessNames.map(({ name }) => name)).not.toContain(word);
  expect(parts.every(({ voice }) => voice !== undefined)).toBe(true);
});
