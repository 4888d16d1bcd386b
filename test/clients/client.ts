/** The interface of a client program under test, and its inputs. */

import type { ClientEnvironment, Ended } from "./client-environment.ts";
import type { Scene } from "./conversation.ts";
import type { Sandbox } from "./sandbox.ts";

export interface ClientSetup {
  readonly environment: ClientEnvironment;
  readonly sandbox: Sandbox;
  /** The folder that replaces the placeholder `/absolute/path/to`. */
  readonly root: string;
  /** The folder of node_modules in which the client's packages lie. */
  readonly modules: string;
  /**
   * A block of this client with its placeholders filled in; `which` is its index among the blocks of its language.
   */
  block(language: string, which?: number): string;
}

interface Pinned {
  /** As written in the documents. */
  readonly name: string;
  /** Distinguishes the ways of driving one client. */
  readonly variant?: string;
  /** `name@version`; the first is the client itself. */
  readonly packages: readonly string[];
  /** Calls that the client refuses itself, in its own words, so that the server never receives them. */
  readonly refusesItself?: readonly Scene[];
}

/** A program with a model; here the model is scripted. */
export interface ModelClient extends Pinned {
  readonly kind: "model";
  /** Plays the conversation with the client, set up by the block as written. */
  converse(setup: ClientSetup, modelUrl: string): Promise<Ended>;
}

/** A program driven by a person or a script, who see only its output. */
export interface CommandClient extends Pinned {
  readonly kind: "command";
  /** Runs the block as written. */
  prepare(setup: ClientSetup): Promise<Ended>;
  /** Makes one call and resolves with its output. */
  call(setup: ClientSetup, tool: string, args: Record<string, unknown>): Promise<Ended>;
}

export type Client = ModelClient | CommandClient;
