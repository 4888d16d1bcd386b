/** Tests which marks a single request is reported to contain. */
import { expect, it } from "vitest";
import { listUnreadMarks } from "../../../src/narration/text/unread-marks.ts";

it.each([
  ['Wait. <break time="3s"/> Now.', ['"<break time=\\"3s\\"/>"']],
  ["[whispering] Come here.", ['"[whispering]"']],
  ["ANNA: Where were you?\nBEN: Away.", ['"ANNA:"']],
  ["Anna: Where were you?\nBen: Away.", ['"Anna:"']],
  ["# Title\n\nIt is **bold**.", ["Markdown"]],
  ["See [the page](https://a.example).", ["Markdown"]],
  ["<speak>Hello <emphasis>you</emphasis></speak>", ['"<speak>"']],
  ["<b>Hello</b> [softly]\r\nANNA: *Yes*", ['"<b>"', '"[softly]"', '"ANNA:"', "Markdown"]],
  ["Note: the bus is late. It is 5 < 6 and 7 > 3.", []],
  ["He said it [1], and (softly) went. At 10:30 a.m.", []],
  ["Hello, @Audio1 speaks.", []],
])("%j has %j", (text, marks) => {
  expect(listUnreadMarks(text)).toEqual(marks);
});
