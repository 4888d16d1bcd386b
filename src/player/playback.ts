/** Plays a segment with an audio element, or as decoded samples if the host's content policy forbids the element. */
import { DamagedFileError, type Segment } from "./segment-reader.ts";

export interface Playback {
  readonly segment: Segment;
  /** Whether it plays samples, which start at exact times and have one speed. */
  readonly isSamples: boolean;
  /**
   * Starts to play after `delaySeconds`. Does not start if `play` or `pause` is called during the delay.
   *
   * @param targetSeconds where to start, in seconds of the whole sound
   * @throws Error if the browser does not allow playing
   */
  play(targetSeconds: number, delaySeconds?: number): Promise<void>;
  pause(): void;
  /** Returns the current position, in seconds of the whole sound. */
  positionSeconds(): number;
  hasEnded(): boolean;
  setSpeed(speed: number): void;
  release(): void;
}

/** How long elements take to start to sound, by the latest measurements. They are started so much earlier. */
let startSeconds = 0;
const MAX_START_SECONDS = 0.15;
const MEASURED_AFTER_MS = 300;

/** Idle audio elements, kept for reuse. Browsers let an element play only if it existed when the person clicked. */
const idleElements: HTMLAudioElement[] = [];

function takeElement(): HTMLAudioElement {
  const element = idleElements.pop() ?? document.createElement("audio");
  element.preload = "auto";
  document.body.append(element);
  return element;
}

function buildDataUrl({ bytes, mimeType }: Segment): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new DamagedFileError());
    reader.readAsDataURL(new Blob([bytes], { type: mimeType }));
  });
}

/** Time limit in milliseconds for an audio element to load a segment, whose bytes are already in memory. */
const EVENT_TIMEOUT_MS = 8000;

const waitForEvent = (element: HTMLAudioElement, event: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DamagedFileError()), EVENT_TIMEOUT_MS);
    const end = (finish: () => void): void => {
      clearTimeout(timer);
      element.removeEventListener(event, succeed);
      element.removeEventListener("error", fail);
      finish();
    };
    const succeed = (): void => end(resolve);
    const fail = (): void => end(() => reject(new DamagedFileError()));
    element.addEventListener(event, succeed);
    element.addEventListener("error", fail);
  });

/**
 * Prepares an audio element.
 *
 * @throws DamagedFileError if the browser cannot decode the segment, or if the host's content policy forbids the element
 */
export async function createElementPlayback(newSegment: Segment): Promise<Playback> {
  const element = takeElement();
  let isReleased = false;
  const release = (): void => {
    // Ignore a second call of `release`, because another playback may use the element by now.
    if (isReleased) return;
    isReleased = true;
    element.pause();
    element.onended = null;
    element.removeAttribute("src");
    element.load();
    element.remove();
    idleElements.push(element);
  };
  try {
    const url = await buildDataUrl(newSegment);
    const ready = waitForEvent(element, "canplay");
    element.src = url;
    await ready;
  } catch (error) {
    release();
    throw error;
  }
  const { leadInSeconds } = newSegment;
  const segment = Number.isFinite(newSegment.endSeconds)
    ? newSegment
    : { ...newSegment, endSeconds: newSegment.startSeconds + element.duration };
  let commandCount = 0;
  /** Where the pause after the sound was entered, in seconds of the segment, and when; null while there is sound. */
  let rest: { readonly offset: number; readonly sinceMs: number | null } | null = null;
  const getLength = (): number => segment.endSeconds - segment.startSeconds;
  const computeReachedSeconds = (): number => {
    if (rest === null) return Math.max(0, element.currentTime - leadInSeconds);
    const passedMs = rest.sinceMs === null ? 0 : performance.now() - rest.sinceMs;
    return Math.min(getLength(), rest.offset + (passedMs / 1000) * element.playbackRate);
  };
  const beginRest = (offset: number, isRunning: boolean): void => {
    rest = { offset, sinceMs: isRunning ? performance.now() : null };
  };
  element.onended = () => beginRest(computeReachedSeconds(), true);
  const seek = (targetSeconds: number): void => {
    const offset = Math.max(0, targetSeconds - segment.startSeconds);
    rest = null;
    if (offset + leadInSeconds >= element.duration) beginRest(offset, false);
    else if (Math.abs(element.currentTime - offset - leadInSeconds) > 0.02)
      element.currentTime = offset + leadInSeconds;
  };
  seek(segment.startSeconds);
  return {
    segment,
    isSamples: false,
    play: async (targetSeconds, delaySeconds = 0) => {
      commandCount += 1;
      const countAtStart = commandCount;
      seek(targetSeconds);
      await wait(delaySeconds - startSeconds);
      if (countAtStart !== commandCount || isReleased) return;
      if (rest !== null) return beginRest(rest.offset, true);
      const [calledMs, from] = [performance.now(), element.currentTime];
      setTimeout(() => {
        if (countAtStart !== commandCount || isReleased || rest !== null) return;
        const playedSeconds = (element.currentTime - from) / element.playbackRate;
        const measured = Math.min(MAX_START_SECONDS, (performance.now() - calledMs) / 1000 - playedSeconds);
        // An element also states its position late: about half of the difference is heard.
        startSeconds = (startSeconds + measured / 2) / 2;
      }, MEASURED_AFTER_MS);
      await element.play();
    },
    pause: () => {
      commandCount += 1;
      if (isReleased) return;
      if (rest !== null) beginRest(computeReachedSeconds(), false);
      element.pause();
    },
    positionSeconds: () => segment.startSeconds + computeReachedSeconds(),
    hasEnded: () => element.ended || computeReachedSeconds() >= getLength(),
    setSpeed: (speed) => {
      if (rest !== null) beginRest(computeReachedSeconds(), rest.sinceMs !== null);
      element.playbackRate = speed;
      element.defaultPlaybackRate = speed;
    },
    release,
  };
}

const wait = async (seconds: number): Promise<void> => {
  if (seconds > 0) await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
};

let context: AudioContext | undefined;

/**
 * Returns the page's only audio context. Creates it only after Play was pressed, because browsers mute a context that
 * was created earlier.
 */
const getAudioContext = (): AudioContext => {
  context ??= new AudioContext();
  return context;
};

/**
 * Decodes a segment, to play it as samples.
 *
 * @throws DamagedFileError
 */
export async function createSamplesPlayback(newSegment: Segment): Promise<Playback> {
  const decoder = new OfflineAudioContext(1, 1, 48_000);
  // Copy the bytes, because the decoder detaches its input buffer.
  const buffer = await decoder.decodeAudioData(newSegment.bytes.slice().buffer).catch(() => {
    throw new DamagedFileError();
  });
  const { leadInSeconds } = newSegment;
  const segment = Number.isFinite(newSegment.endSeconds)
    ? newSegment
    : { ...newSegment, endSeconds: newSegment.startSeconds + buffer.duration };
  const getLength = (): number => segment.endSeconds - segment.startSeconds;
  let node: AudioBufferSourceNode | undefined;
  let [startedAt, offset, commandCount] = [0, 0, 0];
  const computeReachedSeconds = (): number =>
    node === undefined
      ? offset
      : Math.min(getLength(), offset + Math.max(0, getAudioContext().currentTime - startedAt));
  const pause = (): void => {
    commandCount += 1;
    offset = computeReachedSeconds();
    node?.stop();
    node?.disconnect();
    node = undefined;
  };
  return {
    segment,
    isSamples: true,
    play: async (targetSeconds, delaySeconds = 0) => {
      pause();
      const countAtStart = commandCount;
      const audioContext = getAudioContext();
      // A context that runs is not awaited, because the sound must start at an exact time.
      if (audioContext.state !== "running") await audioContext.resume();
      if (countAtStart !== commandCount) return;
      offset = Math.min(getLength(), Math.max(0, targetSeconds - segment.startSeconds));
      node = new AudioBufferSourceNode(audioContext, { buffer });
      node.connect(audioContext.destination);
      startedAt = audioContext.currentTime + delaySeconds;
      node.start(startedAt, leadInSeconds + offset, getLength() - offset);
      // Wait until this segment starts; until then the previous segment plays.
      await wait(delaySeconds);
    },
    pause,
    positionSeconds: () => segment.startSeconds + computeReachedSeconds(),
    hasEnded: () => computeReachedSeconds() >= getLength() - 0.005,
    setSpeed: () => undefined,
    release: pause,
  };
}
