/**
 * Connects the controls for play, position (by mouse and keys), speed and time, and shows the state of the sound
 * player.
 */
import { getButton, getElement, getElementOfType } from "./elements.ts";
import { formatClock } from "./shown-result.ts";
import type { SoundPlayer } from "./sound-player.ts";
import type { Waveform } from "./waveform.ts";

const STEP_SECONDS = 5;
const LONG_STEP_SECONDS = 30;

const PLAY_ICON = "M8 5v14l11-7z";
const PAUSE_ICON = "M7 5h4v14H7zm6 0h4v14h-4z";

/** Shows the position, the duration and the state of the player on the controls. */
export function showTransport(player: SoundPlayer, wave: Waveform): void {
  const { positionSeconds, durationSeconds } = player;
  const slider = getElement("#wave");
  const spokenValue = `${formatClock(positionSeconds)} of ${formatClock(durationSeconds)}`;
  wave.setPlayedShare(durationSeconds > 0 ? positionSeconds / durationSeconds : 0);
  if (slider.ariaValueText !== spokenValue) {
    slider.ariaValueMax = `${Math.floor(durationSeconds)}`;
    slider.ariaValueNow = `${Math.floor(positionSeconds)}`;
    slider.ariaValueText = spokenValue;
    getElement("#time").textContent = `${formatClock(positionSeconds)} / ${formatClock(durationSeconds)}`;
  }
  const play = getButton("#play");
  const isOn = player.isPlaying || player.wantsToPlay;
  play.ariaLabel = isOn ? "Pause" : "Play";
  play.ariaBusy = `${player.isLoading}`;
  getElementOfType("#icon", SVGPathElement).setAttribute("d", isOn ? PAUSE_ICON : PLAY_ICON);
  getElement("#speed").hidden = !player.canChangeSpeed;
}

const toggle = (player: SoundPlayer): void => {
  if (player.isPlaying || player.wantsToPlay) player.pause();
  else void player.play();
};

/**
 * Connects the controls and the keyboard to the player. Must be called only once, because it adds a listener to the
 * document.
 */
export function connectTransport(player: SoundPlayer): void {
  const slider = getElement("#wave");
  getButton("#play").onclick = () => toggle(player);
  const speed = getElementOfType("#speed", HTMLSelectElement);
  speed.onchange = () => player.setSpeed(Number(speed.value));

  const seekTo = ({ clientX }: MouseEvent): void => {
    const { left, width } = slider.getBoundingClientRect();
    void player.seek(((clientX - left) / width) * player.durationSeconds);
  };
  let pressedAt = 0;
  slider.onpointerdown = (event) => {
    if (event.button !== 0) return;
    slider.setPointerCapture(event.pointerId);
    pressedAt = event.clientX;
    seekTo(event);
  };
  slider.onpointerup = (event) => {
    // Seek when a drag ends, not while it continues, because each step would request bytes.
    if (event.button === 0 && Math.abs(event.clientX - pressedAt) > 2) seekTo(event);
  };

  document.addEventListener("keydown", (event) => {
    const { target, key, ctrlKey, metaKey, altKey } = event;
    if (getElement("#player").hidden || ctrlKey || metaKey || altKey) return;
    const isControl = target instanceof HTMLElement && target.closest("button, select, summary, ol") !== null;
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: player.positionSeconds - STEP_SECONDS,
      ArrowDown: player.positionSeconds - STEP_SECONDS,
      ArrowRight: player.positionSeconds + STEP_SECONDS,
      ArrowUp: player.positionSeconds + STEP_SECONDS,
      PageDown: player.positionSeconds - LONG_STEP_SECONDS,
      PageUp: player.positionSeconds + LONG_STEP_SECONDS,
      Home: 0,
      End: player.durationSeconds,
    };
    const to = steps[key];
    if (key === " " && !isControl) toggle(player);
    // Outside the slider, only the Left and Right keys seek, because keys such as Up, Down and Home scroll the page.
    else if (to !== undefined && (target === slider || (!isControl && /^Arrow[LR]/.test(key))))
      void player.seek(to);
    else return;
    event.preventDefault();
  });
}
