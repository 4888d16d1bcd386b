/** The interface of a client program under test, and its inputs. */

import type { ClientEnvironment, ProcessResult } from "./client-environment.ts";
import type { Scene } from "./conversation.ts";
import type { Sandbox } from "./sandbox.ts";

export interface ClientSetup {
  readonly environment: ClientEnvironment;
  readonly sandbox: Sandbox;
  /** The folder that replaces the placeholder `/absolute/path/to`. */
  readonly root: string;
  /** The `node_modules` folder that contains the client's packages. */
  readonly modules: string;
  /**
   * Returns a code block of this client from the documents, with its placeholders filled in. `which` is the block's
   * index among the client's blocks in that language.
   */
  block(language: string, which?: number): string;
}

interface PinnedClient {
  /** The name that the documents use. */
  readonly name: string;
  /** Distinguishes the ways of driving one client. */
  readonly variant?: string;
  /** The npm packages to install, as `name@version`. The first is the client itself. */
  readonly packages: readonly string[];
  /**
   * The scenes in which the client itself refuses the call. The model then sees the client's own words. The server
   * never receives the call.
   */
  readonly refusedScenes?: readonly Scene[];
}

/** A program that asks a model. In these tests the model is scripted. */
export interface ModelClient extends PinnedClient {
  readonly kind: "model";
  /** Sets the client up with its block as written, and runs the conversation. */
  converse(setup: ClientSetup, modelUrl: string): Promise<ProcessResult>;
}

/** A program without a model. A person or a script runs it, and sees only its output. */
export interface CommandClient extends PinnedClient {
  readonly kind: "command";
  /** Runs the client's block as written. */
  prepare(setup: ClientSetup): Promise<ProcessResult>;
  /** Makes one call and resolves with its output. */
  call(setup: ClientSetup, tool: string, args: Record<string, unknown>): Promise<ProcessResult>;
}

export type Client = ModelClient | CommandClient;
