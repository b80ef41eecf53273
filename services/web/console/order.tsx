import { join } from 'node:path';
import { readAsset } from '../../../shared/http/asset';
import { assetRoute } from '../html';

type Move = 'first' | 'up' | 'add' | 'remove';

export const ORDER_SCRIPT = assetRoute(
  'console-order',
  'mjs',
  readAsset(join(__dirname, 'order-script.mjs')),
);

/** Lets one drag the children of elements with `data-order`. Their form is then sent without a pressed button. */
export const OrderScript = () => <script type="module" src={ORDER_SCRIPT.path} />;

interface MoveProps {
  readonly move: Move;
  readonly id: string;
  readonly label: string;
  /** The name of the moved item, for screen readers. */
  readonly name: string;
}

/** A button of a form that changes an order, which `arranged` reads. */
export const MoveButton = ({ move, id, label, name }: MoveProps) => (
  <button type="submit" class="quiet" name="move" value={`${move} ${id}`} aria-label={`${label}: ${name}`}>
    {label}
  </button>
);

/** Returns the ids in the order that the pressed `MoveButton` makes. Returns them as they are if no button was pressed. */
export function arranged(ids: readonly string[], form: URLSearchParams): string[] {
  const [move, id = ''] = (form.get('move') ?? '').split(' ');
  const others = ids.filter((each) => each !== id);
  if (move === 'add') return [...others, id];
  const index = ids.indexOf(id);
  if (index < 0 || move === 'remove') return others;
  return others.toSpliced(move === 'first' ? 0 : Math.max(0, index - 1), 0, id);
}
