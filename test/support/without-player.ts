/** The tools as models see them: hosts do not pass on the fields that point to the player. */

interface Listed {
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

export function withoutPlayer<T extends Listed>(tools: readonly T[]): Array<Omit<T, "_meta"> & Listed> {
  return tools.map(({ _meta, ...tool }) => {
    const { ui: _, "ui/resourceUri": __, ...meta } = _meta ?? {};
    return { ...tool, ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }) };
  });
}
