/** The address of the player page, for hosts that show a page beside a tool's result (docs/reference.md, Player). */

export const PLAYER_URI = "ui://audio-generation/player.html";

/** Names the page under two keys, because some hosts read only the older, flat key. Models do not see these keys. */
export const PLAYER_META = { ui: { resourceUri: PLAYER_URI }, "ui/resourceUri": PLAYER_URI } as const;
