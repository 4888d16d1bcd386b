/** The tools as models are told of them: hosts keep what points at the player to themselves. */

interface Listed {
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

export function withoutPlayer<T extends Listed>(tools: readonly T[]): Array<Omit<T, "_meta"> & Listed> {
  return tools.map(({ _meta, ...tool }) => {
    const { ui: _, "ui/resourceUri": __, ...meta } = _meta ?? {};
    return { ...tool, ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }) };
  });
}
