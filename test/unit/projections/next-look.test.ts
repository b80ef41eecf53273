import { setImmediate as nextTurn } from 'node:timers/promises';
import { NextLook } from '../../../projections/next-look';

/** Looks that are answered by hand, in their order. */
function looks() {
  const open: { answer: (n: number) => void; fail: () => void }[] = [];
  const look = new NextLook(
    () =>
      new Promise<number>((resolve, reject) => {
        open.push({ answer: resolve, fail: () => reject(new Error('away')) });
      }),
  );
  return { look, open };
}

describe('a question that many ask at once', () => {
  test('those who come while a look is under way share the next, which begins after they came', async () => {
    const { look, open } = looks();
    const first = look.ask();
    const others = [look.ask(), look.ask(), look.ask()];
    expect(open).toHaveLength(1);
    open[0]!.answer(1);
    expect(await first).toBe(1);
    await nextTurn();
    const late = look.ask();
    expect(open).toHaveLength(2);
    open[1]!.answer(2);
    expect(await Promise.all(others)).toEqual([2, 2, 2]);
    await nextTurn();
    open[2]!.answer(3);
    expect(await late).toBe(3);
  });

  test('a look that fails fails for those who shared it, and the next one is made all the same', async () => {
    const { look, open } = looks();
    const first = look.ask();
    const second = look.ask();
    open[0]!.fail();
    await expect(first).rejects.toThrow('away');
    await nextTurn();
    open[1]!.answer(2);
    expect(await second).toBe(2);
    await nextTurn();
    const third = look.ask();
    open[2]!.answer(3);
    expect(await third).toBe(3);
  });
});
