/** Generates, saves and lists audio over stdio with both official clients, on the sandbox and on a fake service. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { VOICE_IDS } from "../../src/contract/voices.ts";
import { FAST } from "../support/bin-under-test.ts";
import { countVoices } from "../support/count-voices.ts";
import { openClientAll, openFoldersAll, openSandboxAll } from "../support/e2e-setup.ts";
import { type ClientEra, startBinClient } from "../support/tool-client.ts";
import { generate, taskOf } from "../support/tool-result.ts";

describe.each<ClientEra>(["legacy", "modern"])(
  "with the official %s client and the sandbox's voice",
  (kind) => {
    const sandbox = openSandboxAll({ processingSeconds: 0.3, timeScale: 0.01 });
    const testFolders = openFoldersAll();
    const client = openClientAll(() => startBinClient(testFolders.env(sandbox, FAST), kind));

    it("saves the audio, sends progress, and links to the file", async () => {
      const messages: string[] = [];
      const numbers: number[] = [];
      const outcome = await client.call(
        "generate_audio",
        { prompt: `A short greeting for ${kind}.`, voice: "sophie_en_zh" },
        {
          onprogress: (message, progress) => {
            messages.push(message);
            numbers.push(progress);
          },
        },
      );
      const task = taskOf(outcome);
      expect(task).toMatchObject({ status: "succeeded", replayed: false, take: 1, error: null });
      expect(task.billing).toEqual({ reserved_credits: 150, charged_credits: 10, refunded_credits: 140 });
      const bytes = await readFile(task.audio?.path ?? "");
      expect(bytes.length).toBe(task.audio?.size_bytes);
      expect(fileURLToPath(task.audio?.uri ?? "")).toBe(task.audio?.path);
      const link = outcome.content.find((block) => block.type === "resource_link");
      expect(link).toMatchObject({ uri: task.audio?.uri, mimeType: "audio/mpeg", size: bytes.length });
      expect(outcome.content[0]?.text).toContain(task.audio?.path);
      expect(messages.some((message) => message.includes("Accepted"))).toBe(true);
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      expect(new Set(numbers).size).toBe(numbers.length);
    });

    it("returns the audio in all three deliveries, and as a resource", async () => {
      const createdTask = await generate(client, { prompt: `Deliveries for ${kind}.` });
      const bytes = await readFile(createdTask.audio?.path ?? "");
      const byPath = await client.call("download_audio", { task_id: createdTask.task_id });
      expect(byPath.content.map(({ type }) => type)).toEqual(["text", "resource_link"]);
      for (const deliver of ["inline", "both"]) {
        const outcome = await client.call("download_audio", { task_id: createdTask.task_id, deliver });
        const block = outcome.content.find(({ type }) => type === "audio");
        expect(Buffer.from(block?.data ?? "", "base64").equals(bytes)).toBe(true);
        expect(block?.mimeType).toBe("audio/mpeg");
        expect(taskOf(outcome).audio?.path).toBe(createdTask.audio?.path);
      }
      const byFile = await client.read(createdTask.audio?.uri ?? "");
      expect(byFile.bytes.equals(bytes)).toBe(true);
      const byTask = await client.read(`audio://tasks/${createdTask.task_id}/content`);
      expect(byTask).toMatchObject({ mimeType: "audio/mpeg" });
      expect(byTask.bytes.equals(bytes)).toBe(true);
      expect(await client.templates()).toEqual([
        "audio://tasks/{task_id}/content{?offset,length}",
        "audio://narrations/{narration_id}",
        "audio://narrations/{narration_id}/files/{n}{?offset,length}",
      ]);
    });

    it("returns raw pcm inside a result as an embedded resource", async () => {
      const createdTask = await generate(client, {
        prompt: `Raw for ${kind}.`,
        output_format: "pcm",
        sample_rate: 8000,
      });
      const outcome = await client.call("download_audio", {
        task_id: createdTask.task_id,
        deliver: "inline",
      });
      const block = outcome.content.find(({ type }) => type === "resource");
      expect(Buffer.from(block?.resource?.blob ?? "", "base64").length).toBe(createdTask.audio?.size_bytes);
    });

    it("reads only audio of the ledger", async () => {
      await expect(client.read("file:///etc/passwd")).rejects.toThrow(/not_found/);
      await expect(client.read("audio://tasks/..%2f..%2fetc/content")).rejects.toThrow(/not_found/);
      await expect(client.read("https://example.com/a.mp3")).rejects.toThrow(/not_found/);
    });

    it("filters voices by language and words", async () => {
      const all = await client.call("list_voices", {});
      expect(all.structuredContent).toMatchObject({ count: VOICE_IDS.length });
      const portuguese = await client.call("list_voices", { language: "pt" });
      expect(portuguese.structuredContent).toMatchObject({
        count: countVoices("pt"),
        voices: expect.arrayContaining([expect.objectContaining({ id: "mindy_en_es_id_pt_zh" })]),
      });
      const mixed = await client.call("list_voices", { language: "es", query: "mixed sandy" });
      expect(mixed.structuredContent).toMatchObject({ count: 1, voices: [{ name: "Sandy", mixed: true }] });
      const none = await client.call("list_voices", { query: "nobody" });
      expect(none.structuredContent).toMatchObject({ count: 0, voices: [] });
    });
  },
);
