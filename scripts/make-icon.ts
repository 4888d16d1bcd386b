/** Draws `assets/icon.png`: bars of a sound, half of them spoken, on a rounded square; written as PNG without any library. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";

const SIZE = 512;

interface Bar {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly radius: number;
  readonly colour: readonly [number, number, number];
}

const bar = (x: number, height: number, colour: Bar["colour"]): Bar => ({
  x,
  y: (SIZE - height) / 2,
  width: 40,
  height,
  radius: 20,
  colour,
});

const AMBER = [244, 185, 66] as const;
const CREAM = [247, 243, 232] as const;
const SHAPES: readonly Bar[] = [
  { x: 0, y: 0, width: SIZE, height: SIZE, radius: 112, colour: [18, 52, 59] },
  bar(80, 88, AMBER),
  bar(142, 208, AMBER),
  bar(204, 320, AMBER),
  bar(268, 152, CREAM),
  bar(330, 248, CREAM),
  bar(392, 72, CREAM),
];

/** How much of the pixel at (x, y) a rounded rectangle covers: 0 to 1, so that edges are smooth. */
function coverage({ x, y, width, height, radius }: Bar, pixelX: number, pixelY: number): number {
  const dx = Math.abs(pixelX + 0.5 - (x + width / 2)) - (width / 2 - radius);
  const dy = Math.abs(pixelY + 0.5 - (y + height / 2)) - (height / 2 - radius);
  const distance = Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - radius;
  return Math.min(1, Math.max(0, 0.5 - distance));
}

/** One row of RGBA behind PNG's filter byte. */
function row(y: number): Buffer {
  const bytes = Buffer.alloc(1 + SIZE * 4);
  for (let x = 0; x < SIZE; x += 1) {
    let [red, green, blue, alpha] = [0, 0, 0, 0];
    for (const shape of SHAPES) {
      const share = coverage(shape, x, y);
      if (share === 0) continue;
      const [r, g, b] = shape.colour;
      const kept = alpha === 0 ? 0 : 1 - share;
      [red, green, blue] = [
        red * kept + r * (1 - kept),
        green * kept + g * (1 - kept),
        blue * kept + b * (1 - kept),
      ];
      alpha = Math.max(alpha, share);
    }
    bytes.set([red, green, blue, alpha * 255].map(Math.round), 1 + x * 4);
  }
  return bytes;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

const header = Buffer.alloc(13);
header.writeUInt32BE(SIZE, 0);
header.writeUInt32BE(SIZE, 4);
// Eight bits a channel, RGBA.
header.set([8, 6, 0, 0, 0], 8);
const pixels = Buffer.concat(Array.from({ length: SIZE }, (_, y) => row(y)));
const folder = join(import.meta.dirname, "..", "assets");
mkdirSync(folder, { recursive: true });
writeFileSync(
  join(folder, "icon.png"),
  Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(pixels, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]),
);
