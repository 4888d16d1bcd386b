/** The few types of WebAssembly that this project uses: neither TypeScript's es2024 nor Node's types have them. */

declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Memory {
    readonly buffer: ArrayBuffer;
    private constructor();
  }
  class Instance {
    readonly exports: Readonly<Record<string, unknown>>;
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>);
  }
}
