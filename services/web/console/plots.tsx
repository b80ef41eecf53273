import { dirname, join } from 'node:path';
import type { Realm } from '../../../shared/catalog/realm';
import { readAsset } from '../../../shared/http/asset';
import { assetRoute } from '../html';

/* What the Health page needs for its plots. */

let assets: ReturnType<typeof readAssets> | undefined;

/** Reads the files when they are first needed: most processes have no pages for operators. */
export function plotAssets() {
  assets ??= readAssets();
  return assets;
}

function readAssets() {
  const folder = dirname(require.resolve('uplot'));
  const style = assetRoute('uplot', 'css', readAsset(join(folder, 'uPlot.min.css')));
  const uplot = assetRoute('uplot', 'mjs', readAsset(join(folder, 'uPlot.esm.js')));
  // Browsers know no names of packages.
  const text = readAsset(join(__dirname, 'plots-script.mjs')).replace("'uplot'", `'${uplot.path}'`);
  return { style, uplot, script: assetRoute('console-plots', 'mjs', text) };
}

/** Where the script draws. Without it, nothing is shown. */
export const Plots = ({ realm }: { realm: Realm }) => (
  <div class="plots" data-realm={realm} hidden>
    <figure>
      <figcaption>Lag of each partition, in log positions</figcaption>
      <div class="lag" role="img" aria-label="Lag" />
    </figure>
    <figure>
      <figcaption>Log positions per second (with gaps: these are not events)</figcaption>
      <div class="rate" role="img" aria-label="Rate" />
    </figure>
    <p class="bad" role="status" />
  </div>
);

export function PlotScript() {
  const { style, script } = plotAssets();
  return (
    <>
      <link rel="stylesheet" href={style.path} />
      <script type="module" src={script.path} />
    </>
  );
}
