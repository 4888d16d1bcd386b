/** What a client program is to this test, and what it is given. */
import type { Desk, Ended } from "./desk.ts";
import type { Sandbox } from "./sandbox.ts";

export interface Scenery {
  readonly desk: Desk;
  readonly sandbox: Sandbox;
  /** What `/absolute/path/to` stands for. */
  readonly root: string;
  /** The folder of node_modules in which the client's packages lie. */
  readonly modules: string;
  /** A block of this client with its placeholders filled in; `which` is its place among those of its language. */
  block(language: string, which?: number): string;
}

interface Pinned {
  /** As the documents write it. */
  readonly name: string;
  /** What is special, where a client is driven in more than one way. */
  readonly variant?: string;
  /** `name@version`; the first is the client itself. */
  readonly packages: readonly string[];
}

/** A program with a model, here the scripted one. */
export interface ModelClient extends Pinned {
  readonly kind: "model";
  /** Has the one conversation, set up by the block as it is written. */
  converse(scenery: Scenery, modelUrl: string): Promise<Ended>;
}

/** A program that a person or a script drives; what it prints is what they see. */
export interface CommandClient extends Pinned {
  readonly kind: "command";
  /** Runs the block as it is written. */
  prepare(scenery: Scenery): Promise<Ended>;
  /** Makes one call, and resolves with what it printed. */
  call(scenery: Scenery, tool: string, args: Record<string, unknown>): Promise<Ended>;
}

export type Client = ModelClient | CommandClient;
