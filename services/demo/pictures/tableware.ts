import { box, flame, line, type Motif, oval, path, steam, surface } from './shapes';

export const mug: Motif = ({ main, dark, light }) =>
  line('M670 470 q140 0 130 110 t-150 100', dark, 46) +
  surface('M300 400 h390 v270 q0 110 -110 110 h-170 q-110 0 -110 -110 z', main) +
  oval(495, 400, 195, 44, light) +
  oval(495, 408, 165, 32, dark) +
  steam(435, 330, light);

export const bowl: Motif = ({ main, dark, light }) =>
  surface('M200 480 h600 q-10 250 -200 290 h-200 q-190 -40 -200 -290 z', main) +
  oval(500, 480, 300, 70, light) +
  oval(500, 490, 260, 52, dark) +
  box(400, 760, 200, 26, dark, 10);

export const plate: Motif = ({ main, dark, light, accent }) =>
  oval(500, 560, 340, 230, dark) +
  oval(500, 546, 340, 230, main) +
  oval(500, 546, 340, 230, 'url(#pattern)') +
  oval(500, 546, 230, 150, light) +
  oval(500, 546, 90, 58, 'none', `stroke="${accent}" stroke-width="12" stroke-dasharray="24 16"`);

export const jug: Motif = ({ main, dark, light }) =>
  line('M640 360 q170 20 140 190 t-150 150', dark, 40) +
  surface(
    'M380 260 h230 l-20 120 q130 80 110 250 q-16 150 -150 150 h-120 q-134 0 -150 -150 q-20 -170 110 -250 z',
    main,
  ) +
  path('M340 236 l60 -10 h200 q20 0 18 40 h-230 z', light);

export const pot: Motif = ({ main, dark, accent }) =>
  [-70, 0, 70]
    .map((by) =>
      path(
        `M${500 + by} 520 q${by - 60} -190 ${by * 0.6} -300 q70 130 ${60 - by * 0.6} 300 z`,
        `hsl(130, 34%, ${38 + Math.abs(by) / 7}%)`,
      ),
    )
    .join('') +
  oval(500, 250, 26, 26, accent) +
  surface('M290 500 h420 l-50 280 h-320 z', main) +
  box(270, 470, 460, 60, dark, 14);

export const bull: Motif = ({ main, dark, light, accent }) =>
  [330, 420, 600, 680].map((x) => box(x, 640, 56, 140, dark, 14)).join('') +
  surface('M290 460 q30 -70 150 -60 h190 q110 0 120 120 t-90 170 h-320 q-110 -40 -50 -230 z', main) +
  surface('M200 420 q20 -80 110 -70 q80 10 80 100 q-10 110 -110 110 q-90 -20 -80 -140 z', main) +
  line('M220 370 q-60 -30 -40 -110 M360 360 q60 -30 40 -110', light, 26) +
  oval(262, 440, 15, 15, dark) +
  line('M420 400 q90 60 200 0', accent, 24) +
  line('M748 500 q80 30 40 130', dark, 20);

export const wheel: Motif = ({ main, dark, light, accent }) =>
  surface('M400 380 h200 q40 120 -30 190 h-140 q-70 -70 -30 -190 z', main) +
  oval(500, 380, 100, 26, light) +
  oval(500, 590, 260, 50, dark) +
  oval(500, 576, 260, 50, accent) +
  box(460, 620, 80, 160, dark, 10);

export const press: Motif = ({ main, dark, light, accent }) =>
  line('M640 420 h90 v260 h-90', dark, 34) +
  box(370, 330, 270, 450, light, 24) +
  box(370, 520, 270, 260, main, 24) +
  line('M505 330 v-140', dark, 18) +
  oval(505, 180, 38, 30, accent) +
  box(350, 310, 310, 46, dark, 16) +
  box(370, 500, 270, 26, dark);

export const cone: Motif = ({ main, dark, light, accent }) =>
  surface('M250 320 h500 l-170 260 h-160 z', main) +
  oval(500, 320, 250, 54, light) +
  oval(500, 326, 210, 38, accent) +
  box(330, 576, 340, 40, dark, 16) +
  box(420, 616, 160, 160, light, 20) +
  box(420, 690, 160, 86, dark, 20);

export const basket: Motif = ({ main, dark, light, accent }) =>
  line('M280 520 q220 -420 440 0', dark, 30) +
  [
    [390, 480, accent],
    [500, 440, light],
    [610, 480, dark],
  ]
    .map(([x, y, fill]) => oval(Number(x), Number(y), 90, 90, String(fill)))
    .join('') +
  surface('M230 500 h540 l-70 280 h-400 z', main) +
  box(210, 480, 580, 50, dark, 24);

export const figures: Motif = ({ main, dark, light, accent }) =>
  [
    [320, 480, main],
    [500, 420, dark],
    [680, 500, accent],
  ]
    .map(
      ([x, y, fill]) =>
        surface(
          `M${Number(x) - 90} 780 q0 -${780 - Number(y)} 90 -${780 - Number(y)} t90 ${780 - Number(y)} z`,
          String(fill),
        ) + oval(Number(x), Number(y) - 30, 52, 56, light),
    )
    .join('');

export const loaf: Motif = ({ main, dark, light, accent }) =>
  path('M270 480 q30 -240 230 -240 t230 240 z', main) +
  [
    [390, 380],
    [480, 310],
    [560, 400],
    [620, 350],
  ]
    .map(([x, y]) => oval(x!, y!, 20, 16, dark))
    .join('') +
  surface('M280 470 h440 l-40 310 h-360 z', accent) +
  line('M280 480 h440', light, 24);

export const candle: Motif = ({ main, dark, light }) =>
  flame(500, 190) +
  line('M500 310 v70', dark, 10) +
  surface('M360 400 h280 v340 q0 40 -40 40 h-200 q-40 0 -40 -40 z', main) +
  oval(500, 400, 140, 34, light);

export const tapers: Motif = ({ main, dark, light }) =>
  [400, 560]
    .map((x) => flame(x + 20, 100) + box(x, 216, 40, 520, main, 12) + box(x, 216, 14, 520, light, 7))
    .join('') + box(320, 720, 360, 60, dark, 24);

export const smoke: Motif = ({ main, dark, light, accent }) =>
  steam(430, 420, light) +
  surface('M290 560 h420 q-20 220 -210 220 t-210 -220 z', main) +
  oval(500, 560, 210, 44, dark) +
  [430, 500, 570].map((x) => oval(x, 556, 30, 16, accent)).join('');
