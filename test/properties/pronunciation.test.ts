/** Respelling: whole words, the longest first, in one pass. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { mergeRules, type Pronunciation, respell, selectRules } from "../../src/pronunciation.ts";

const rule = (word: string, say: string): Pronunciation => ({ word, say, language: null });
const spoken = (text: string, ...rules: Pronunciation[]): string => respell(text, rules).text;

it.each([
  ["SQL and MySQL, SQL2, ÜSQL, SQL.", rule("SQL", "sequel"), "sequel and MySQL, SQL2, ÜSQL, sequel."],
  ["Sql, SQL, sql", rule("sql", "sequel"), "sequel, sequel, sequel"],
  ["Sql, SQL", rule("SQL", "sequel"), "Sql, sequel"],
  ["C++, C++17, a C", rule("C++", "C plus plus"), "C plus plus, C plus plus17, a C"],
  ["重庆很大,他在重庆。", rule("重庆", "虫庆"), "虫庆很大,他在虫庆。"],
  ["naïve nai\u0308ve", rule("nai", "x"), "naïve nai\u0308ve"],
  ["SQL", rule("SQL", "SQL SQL"), "SQL SQL"],
  ["nothing here", rule("Nguyen", "Win"), "nothing here"],
])("a word in %j", (text, one, expected) => {
  expect(spoken(text, one)).toBe(expected);
});

it("a word that is longer comes first, and replaced text is not replaced again", () => {
  expect(spoken("New York is new", rule("New", "Old"), rule("New York", "New Town"))).toBe("New Town is new");
  expect(spoken("a b", rule("a", "b"), rule("b", "a"))).toBe("b a");
});

it("a rule of one language applies to voices that speak it", () => {
  const spanish = { ...rule("a", "b"), language: "es" } as const;
  expect(selectRules([spanish], "tracy_es_zh")).toEqual([spanish]);
  expect(selectRules([spanish], "stokie_en")).toEqual([]);
  expect(selectRules([spanish], undefined)).toEqual([spanish]);
});

it("a later rule replaces an earlier one of the same word", () => {
  expect(mergeRules([rule("a", "1"), rule("b", "2")], [rule("a", "3")])).toEqual([
    rule("a", "3"),
    rule("b", "2"),
  ]);
});

it("a text is unchanged if no rule matches, and the result names each rule that was used", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.array(fc.string({ minLength: 1 })), (text, words) => {
      const rules = words.map((word) => rule(word, "\u0001"));
      const after = respell(text, rules);
      expect(after.replacedWords.length > 0).toBe(after.text !== text);
      expect(respell(text, []).text).toBe(text);
    }),
  );
});
