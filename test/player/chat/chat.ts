/**
 * A chat like those of hosts of MCP Apps: the official bridge connects it to the player's frame. The test answers the
 * player's requests.
 */
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
import type { ChatWindow, HostAnswer } from "./chat-window.ts";

declare const window: ChatWindow & typeof globalThis.window;

/** @throws the error of the test or the server */
async function ask<T>(method: string, params: unknown): Promise<T> {
  const answer: HostAnswer = JSON.parse(await window.askTest(JSON.stringify({ method, params })));
  if ("error" in answer) throw Object.assign(new Error(answer.error.message), { code: answer.error.code });
  // Nothing is checked here, because some tests answer with wrong shapes.
  return answer.result as T;
}

const { src, capabilities, context, hangs } = window.chatOptions;
const frame = document.createElement("iframe");
frame.setAttribute("sandbox", "allow-scripts");
frame.title = "Player";
frame.style.cssText = "border:0;width:100%;height:420px;display:block";
document.body.append(frame);

const inside = frame.contentWindow;
if (inside === null) throw new Error("the frame has no window");
const bridge = new AppBridge(null, { name: "test-chat", version: "1" }, capabilities, {
  hostContext: context,
});
bridge.onreadresource = (params) => ask("resources/read", params);
bridge.oncalltool = (params) => ask("tools/call", params);
bridge.ondownloadfile = (params) => ask("ui/download-file", params);
bridge.onmessage = (params) => ask("ui/message", params);
bridge.onsizechange = ({ height }) => {
  if (height !== undefined) frame.style.height = `${height}px`;
};
window.chat = {
  initialized: new Promise((resolve) => {
    bridge.oninitialized = () => resolve();
  }),
  input: (args) => bridge.sendToolInput({ arguments: args }),
  result: (result) => bridge.sendToolResult(result),
  context: async (changes) => bridge.sendHostContextChange(changes),
  teardown: async () => void (await bridge.teardownResource({})),
  post: (message) => inside.postMessage(message, "*"),
};
// Without a connected bridge, the host never answers the player.
if (!hangs) await bridge.connect(new PostMessageTransport(inside, inside));
frame.src = src;
