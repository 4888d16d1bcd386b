/** Prompts for the menu of a client: reading a text aloud, making another take, auditioning voices. */
import {
  type GetPromptResult,
  type Prompt,
  type PromptArgument,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import { takeFirstCodePoints } from "../contract/unicode.ts";
import { LANGUAGES } from "../contract/voices.ts";

/**
 * Maximum length of an argument. Arguments are single words, because some clients send only the first word
 * (claude-code#14210).
 */
const MAX_ARGUMENT_CODE_POINTS = 256;

interface Definition extends Prompt {
  readonly arguments: PromptArgument[];
  text(argument: (name: string) => string | undefined): string;
}

const PROMPTS: readonly Definition[] = [
  {
    // This name must differ from the names of all tools, because some clients offer prompts as tools.
    name: "read_aloud",
    title: "Read the text above aloud",
    description: "Narrates the text above, however long it is, and saves it as audio.",
    arguments: [{ name: "voice", description: "A voice id; omitted: the usual one" }],
    text: (argument) => {
      const voice = argument("voice");
      const how = voice === undefined ? "" : ` with voice ${voice}`;
      return `Read the text above aloud, word for word. If it is plain prose of at most 2,048 characters, call generate_audio${how} with it. If it is longer, or has Markdown, headings or several speakers, call narrate${how} with all of it and without max_credits, tell me how long the audio gets and what it costs, and ask before you call it again with max_credits. Then tell me the path.`;
    },
  },
  {
    name: "retake",
    title: "Another take",
    description: "Makes another rendition of audio that is there; a new, paid task.",
    arguments: [{ name: "task_id", description: "Which one; omitted: the one made last" }],
    text: (argument) => {
      const id = argument("task_id");
      const which = id === undefined ? "the audio made last in this conversation" : `the audio of task ${id}`;
      return `I want another take of ${which}; I know that it is a new task and costs credits. Find its text and settings; list_tasks shows only the beginning of a text, so ask me for what is not in this conversation. Then call generate_audio with exactly the same arguments and the next take number, and tell me the path. If it was made by narrate, call narrate with the same text or its narration_id and retakes instead, first without max_credits.`;
    },
  },
  {
    name: "audition_voices",
    title: "Audition voices",
    description: "Has a few voices speak a sample sentence, to choose one.",
    arguments: [{ name: "language", description: `One of ${LANGUAGES.join(", ")}` }],
    text: (argument) => {
      const language = argument("language");
      const isOpen = language === undefined;
      const [inLanguage, speaking] = isOpen
        ? ["", ""]
        : [` with language ${language}`, ` that speak ${language}`];
      return `Help me choose a voice. Call list_voices${inLanguage} and pick up to three voices${speaking}. For those that it names no sample of, tell me that a sample costs about 10 credits, once, and ask whether to go on. Then call generate_audio once for each of them, with the voice and its sentence in list_voices, and nothing else. List their paths.`;
    },
  },
];

/** Lists all prompts with their arguments, but without their texts. */
export const buildPromptList = (): Prompt[] => PROMPTS.map(({ text: _, ...prompt }) => prompt);

/**
 * Returns the message of a prompt.
 *
 * @throws ProtocolError for an unknown prompt, listing the known ones
 */
export function getPrompt(name: string, promptArgs: Readonly<Record<string, string>> = {}): GetPromptResult {
  const prompt = PROMPTS.find((candidate) => candidate.name === name);
  if (prompt === undefined) {
    const promptNames = PROMPTS.map((candidate) => candidate.name).join(", ");
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown prompt. The prompts are ${promptNames}.`,
    );
  }
  const text = prompt.text((argument) => {
    const value = takeFirstCodePoints((promptArgs[argument] ?? "").trim(), MAX_ARGUMENT_CODE_POINTS);
    return value === "" ? undefined : value;
  });
  return {
    description: prompt.description ?? "",
    messages: [{ role: "user", content: { type: "text", text } }],
  };
}
