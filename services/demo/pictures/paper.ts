import { box, line, type Motif, oval, path, surface } from './shapes';

export const sea: Motif = ({ main, dark, light, accent }) =>
  box(220, 160, 560, 620, '#fffdf6') +
  box(256, 196, 488, 548, light) +
  oval(610, 330, 70, 70, accent) +
  surface('M256 560 q120 -60 244 0 t244 0 v184 h-488 z', main) +
  path('M256 744 v-150 l120 -130 l90 120 l60 -50 l60 90 v120 z', dark);

export const birds: Motif = ({ main, dark, light, accent }) =>
  box(220, 160, 560, 620, '#fffdf6') +
  surface('M256 196 h488 v548 h-488 z', light) +
  [
    [360, 330, main],
    [560, 420, accent],
    [420, 580, dark],
  ]
    .map(([x, y, fill]) =>
      path(`M${Number(x) - 80} ${y} q80 -90 130 0 l70 -20 l-50 50 q-60 90 -150 30 z`, String(fill)),
    )
    .join('');

export const book: Motif = ({ main, dark, light, accent }) =>
  box(300, 220, 430, 560, dark, 14) +
  box(320, 236, 400, 530, light, 6) +
  surface('M280 200 h400 q20 0 20 20 v540 h-420 z', main) +
  box(280, 200, 60, 560, dark) +
  box(410, 320, 220, 130, accent, 10);

export const cards: Motif = ({ main, dark, light, accent }) =>
  [-16, -6, 6]
    .map(
      (turn, n) =>
        `<g transform="rotate(${turn} 500 560)">${box(250, 360, 500, 330, [dark, accent, '#fffdf6'][n]!, 10)}</g>`,
    )
    .join('') +
  `<g transform="rotate(6 500 560)">${surface('M280 390 h270 v270 h-270 z', main)}${line('M590 470 h120 M590 530 h120 M590 590 h90', dark, 8)}${box(640, 390, 76, 60, light)}</g>`;

export const map: Motif = ({ main, dark, light, accent }) =>
  path('M180 300 l210 -60 v480 l-210 60 z', light) +
  surface('M390 240 l220 60 v480 l-220 -60 z', main) +
  path('M610 300 l210 -60 v480 l-210 60 z', light) +
  line('M230 640 q120 -180 240 -60 t280 -190', accent, 16) +
  path('M700 300 q60 0 60 60 q0 40 -60 110 q-60 -70 -60 -110 q0 -60 60 -60', dark);

export const calendar: Motif = ({ main, dark, light, accent }) =>
  box(260, 230, 480, 550, '#fffdf6', 20) +
  surface('M260 250 q0 -20 20 -20 h440 q20 0 20 20 v150 h-480 z', main) +
  [0, 1, 2, 3]
    .flatMap((row) =>
      [0, 1, 2, 3, 4].map((n) =>
        box(300 + n * 84, 440 + row * 80, 60, 54, (row * 5 + n) % 7 === 3 ? accent : light, 8),
      ),
    )
    .join('') +
  line('M380 200 v70 M620 200 v70', dark, 20);

export const envelope: Motif = ({ main, dark, light, accent }) =>
  surface('M200 380 h600 v400 h-600 z', main) +
  path('M200 380 l300 240 l300 -240 z', light) +
  line('M200 380 l300 240 l300 -240', dark, 10) +
  oval(500, 610, 52, 52, accent);

export const stamp: Motif = ({ main, dark, light, accent }) =>
  oval(500, 290, 90, 90, main) +
  box(460, 360, 80, 190, main, 20) +
  surface('M330 540 h340 v110 h-340 z', main) +
  box(310, 650, 380, 40, dark, 8) +
  oval(500, 750, 190, 32, accent) +
  line('M420 745 q80 -30 160 0', light, 8);

export const pencils: Motif = ({ main, dark, light, accent }) =>
  [0, 1, 2, 3, 4, 5]
    .map(
      (n) =>
        `<g transform="rotate(${n * 9 - 22} 500 900)">${box(470, 300, 44, 380, [main, accent, dark][n % 3]!)}${path('M470 300 l22 -90 l22 90 z', '#ecd3ac')}${path('M485 240 l7 -30 l7 30 z', dark)}</g>`,
    )
    .join('') + surface('M300 560 h400 v220 h-400 z', light);

export const scroll: Motif = ({ main, dark, light }) =>
  surface('M220 300 h560 v300 h-560 z', main) +
  box(200, 580, 600, 110, light, 55) +
  oval(226, 635, 26, 55, dark) +
  box(210, 690, 580, 90, dark, 45);

export const card: Motif = ({ main, dark, light, accent }) =>
  surface('M220 360 q0 -30 30 -30 h500 q30 0 30 30 v330 q0 30 -30 30 h-500 q-30 0 -30 -30 z', main) +
  box(220, 430, 560, 60, accent) +
  path('M300 620 l40 -60 l40 60 l-40 60 z', light) +
  line('M440 600 h260 M440 650 h160', dark, 14);
