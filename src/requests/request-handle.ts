/** Builds and parses `req-…` handles, which name a request while it has no task id. */

const HANDLE_PATTERN = /^req-([0-9a-f]{32})$/;

/** Returns the handle by which later calls find a request that has no task id yet. */
export const toRequestHandle = (requestId: string): string => `req-${requestId}`;

/** Extracts the request's id from a handle; `undefined` if the text is not a handle. */
export const parseRequestHandle = (text: string): string | undefined => HANDLE_PATTERN.exec(text)?.[1];
