/** Says a thing once in the life of a process; loaded at the start, so it stands alone. */

/** A question that is answered with yes once. */
export function onceOnly(): () => boolean {
  let isFirst = true;
  return () => {
    const answer = isFirst;
    isFirst = false;
    return answer;
  };
}
