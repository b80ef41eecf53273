import { box, line, type Motif, oval, path, surface } from './shapes';

export const pouch: Motif = ({ main, dark, light, accent }) =>
  surface('M310 230 h380 l30 520 q0 30 -30 30 h-380 q-30 0 -30 -30 z', main) +
  box(300, 214, 400, 70, dark, 12) +
  box(370, 400, 260, 230, light, 18) +
  oval(500, 515, 58, 80, accent) +
  line('M500 440 q-34 75 0 150', light, 12);

export const stack: Motif = ({ main, dark, light, accent }) =>
  [0, 1, 2, 3, 4]
    .map((n) => box(270 + n * 10, 690 - n * 76, 440 - n * 10, 70, n % 2 ? light : main, 10))
    .join('') +
  surface('M310 386 h404 v70 h-404 z', accent) +
  line('M520 320 v450', dark, 18);

export const carton: Motif = ({ main, dark, light, accent }) =>
  surface('M240 400 h520 v350 q0 30 -30 30 h-460 q-30 0 -30 -30 z', main) +
  path('M240 400 l70 -110 h380 l70 110 z', dark) +
  box(468, 290, 64, 490, accent) +
  path('M500 292 q-110 -120 -150 -50 q-10 50 150 50 q160 0 150 -50 q-40 -70 -150 50', light);

export const bar: Motif = ({ main, dark, light, accent }) =>
  surface('M280 300 h440 v480 h-440 z', main) +
  [0, 1, 2].flatMap((x) => [0, 1].map((y) => box(300 + x * 138, 318 + y * 100, 124, 86, dark, 10))).join('') +
  box(280, 520, 440, 260, accent) +
  box(340, 580, 320, 130, light, 14);

export const jar: Motif = ({ main, dark, light, accent }) =>
  box(350, 260, 300, 90, dark, 20) +
  surface('M320 350 h360 q30 0 30 40 v350 q0 40 -40 40 h-340 q-40 0 -40 -40 v-350 q0 -40 30 -40 z', main) +
  box(290, 480, 420, 190, light) +
  oval(500, 575, 70, 70, accent);

export const bottle: Motif = ({ main, dark, light, accent }) =>
  box(450, 200, 100, 110, dark, 14) +
  surface(
    'M420 310 h160 q110 60 110 170 v260 q0 40 -40 40 h-300 q-40 0 -40 -40 v-260 q0 -110 110 -170 z',
    main,
  ) +
  box(350, 520, 300, 170, light, 12) +
  line('M420 605 h160', accent, 22);

export const soap: Motif = ({ main, dark, light }) =>
  box(230, 600, 540, 180, dark, 60) +
  surface('M290 500 h420 q60 0 60 80 t-60 90 h-420 q-60 0 -60 -90 t60 -80 z', main) +
  [
    [330, 380, 44],
    [420, 300, 28],
    [610, 360, 56],
    [520, 230, 20],
  ]
    .map(([x, y, r]) => oval(x!, y!, r!, r!, light, 'opacity="0.8"'))
    .join('');

export const cloth: Motif = ({ main, dark, light, accent }) =>
  surface('M230 260 h540 v440 h-540 z', main) +
  [300, 420, 540, 640].map((y, n) => box(230, y, 540, 34, [dark, light, accent, dark][n]!)).join('') +
  Array.from({ length: 19 }, (_, n) => line(`M${236 + n * 29} 700 v74`, n % 2 ? dark : accent, 9)).join('');

export const scarf: Motif = ({ main, dark, light, accent }) =>
  path('M330 240 q170 160 340 0 l60 70 q-230 200 -460 0 z', dark) +
  surface('M350 320 l150 60 l-60 400 h-150 z', main) +
  surface('M650 320 l-150 60 l60 340 h150 z', main) +
  line('M310 690 h136 M578 640 h116', accent, 22) +
  line('M320 640 h130 M574 590 h112', light, 12);

export const hat: Motif = ({ main, dark, light, accent }) =>
  oval(500, 170, 50, 50, accent) +
  surface('M290 560 q0 -350 210 -350 t210 350 z', main) +
  path('M290 540 h120 v180 q-60 40 -110 -20 z M710 540 h-120 v180 q60 40 110 -20 z', dark) +
  box(280, 520, 440, 56, light, 28) +
  line('M340 720 v60 M660 720 v60', accent, 14);

export const cushion: Motif = ({ main, dark, light, accent }) =>
  surface('M230 330 q270 60 540 0 q-50 220 0 440 q-270 -60 -540 0 q50 -220 0 -440 z', main) +
  path('M500 400 l140 150 l-140 150 l-140 -150 z', light) +
  path('M500 470 l75 80 l-75 80 l-75 -80 z', accent) +
  [
    [230, 330],
    [770, 330],
    [230, 770],
    [770, 770],
  ]
    .map(([x, y]) => oval(x!, y!, 22, 22, dark))
    .join('');

export const bag: Motif = ({ main, dark, accent, light }) =>
  line('M380 420 q0 -230 120 -230 t120 230', dark, 34) +
  surface('M260 400 h480 l40 340 q4 40 -40 40 h-480 q-44 0 -40 -40 z', main) +
  path('M500 480 q90 60 0 200 q-90 -140 0 -200', accent) +
  line('M500 660 v80', light, 12);

export const slippers: Motif = ({ main, dark, light, accent }) =>
  [0, 270]
    .map(
      (by) =>
        oval(370 + by, 620, 120, 160, dark) +
        oval(370 + by, 650, 84, 110, light) +
        surface(`M${250 + by} 600 q0 -200 120 -200 t120 200 q-120 60 -240 0 z`, main) +
        oval(370 + by, 470, 30, 30, accent),
    )
    .join('');

export const loom: Motif = ({ main, dark, light, accent }) =>
  box(240, 190, 40, 590, dark, 12) +
  box(720, 190, 40, 590, dark, 12) +
  box(220, 220, 560, 34, dark, 12) +
  Array.from({ length: 16 }, (_, n) => line(`M${306 + n * 26} 254 v500`, light, 5)).join('') +
  surface('M296 500 h408 v240 h-408 z', main) +
  line('M296 490 h408', accent, 16);

export const star: Motif = ({ main, dark, accent }) => {
  const points = Array.from({ length: 16 }, (_, n) => {
    const radius = n % 2 ? 130 : 300;
    return `${500 + radius * Math.sin((n * Math.PI) / 8)} ${480 - radius * Math.cos((n * Math.PI) / 8)}`;
  });
  return (
    line('M500 60 v130', dark, 8) + surface(`M${points.join(' L')} z`, main) + oval(500, 480, 60, 60, accent)
  );
};
