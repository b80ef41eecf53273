import { dirname, join } from 'node:path';
import type { Realm } from '../../../shared/catalog/realm';
import { readAsset } from '../../../shared/http/asset';
import { assetRoute } from '../html';

/* What the Health page needs for its plots. */

const UPLOT = dirname(require.resolve('uplot'));
const UPLOT_STYLE = assetRoute('uplot', 'css', readAsset(join(UPLOT, 'uPlot.min.css')));
const UPLOT_SCRIPT = assetRoute('uplot', 'mjs', readAsset(join(UPLOT, 'uPlot.esm.js')));
/** Browsers know no names of packages. */
const SCRIPT = assetRoute(
  'console-plots',
  'mjs',
  readAsset(join(__dirname, 'plots-script.mjs')).replace("'uplot'", `'${UPLOT_SCRIPT.path}'`),
);
export const PLOT_ASSETS = [UPLOT_STYLE, UPLOT_SCRIPT, SCRIPT];

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

export const PlotScript = () => (
  <>
    <link rel="stylesheet" href={UPLOT_STYLE.path} />
    <script type="module" src={SCRIPT.path} />
  </>
);
