/** A sound that no service made, and the answers of a server that had saved it. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import { z } from "zod";
import { type Answerer, InvalidMessageReply } from "./chat-host.ts";

export const PATH = "/home/me/audio-generation/harbour.wav";
export const HERTZ = 24_000;

/** Returns a tone as a wav file. */
export function tone(seconds: number, hertz = HERTZ): Buffer {
  const samples = Buffer.alloc(Math.round(seconds * hertz) * 2);
  for (let at = 0; at < samples.length / 2; at += 1) {
    samples.writeInt16LE(Math.round(8000 * Math.sin((at / hertz) * 440 * 2 * Math.PI)), at * 2);
  }
  const head = Buffer.alloc(44);
  head.write("RIFF....WAVEfmt ");
  head.writeUInt32LE(36 + samples.length, 4);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(hertz, 24);
  head.writeUInt32LE(hertz * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

/** Returns the result of a saved task, with the given fields changed. */
export function saved(bytes: number, seconds: number, more: Record<string, unknown> = {}): CallToolResult {
  const audio = { path: PATH, mime_type: "audio/wav", format: "wav", sample_rate: HERTZ, size_bytes: bytes };
  const structuredContent = {
    task_id: "aud_1",
    status: "succeeded",
    message: "Saved.",
    replayed: false,
    billing: { reserved_credits: 150, charged_credits: 10, refunded_credits: 140 },
    audio_seconds: seconds,
    audio,
    next_step: "Tell the user the path.",
    ...more,
  };
  return { content: [{ type: "text", text: "Saved." }], structuredContent };
}

const readSchema = z.object({ uri: z.string() });

/** Answers reads with pieces of a file, like the server. */
export function serving(file: Buffer): Answerer {
  return async (method, params) => {
    if (method !== "resources/read") throw new InvalidMessageReply(-32601, "Method not found");
    const { uri } = readSchema.parse(params);
    const { searchParams } = new URL(uri);
    const [offset, length] = [Number(searchParams.get("offset")), Number(searchParams.get("length"))];
    const blob = file.subarray(offset, offset + length).toString("base64");
    return { contents: [{ uri, mimeType: "audio/wav", blob }] };
  };
}
