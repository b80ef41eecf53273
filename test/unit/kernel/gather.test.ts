import { Gather } from '../../../shared/kernel/gather';

/** Answers each question in capitals, and keeps what was asked together. */
function capitals(questions_max = 100) {
  const asked: string[][] = [];
  const gather = new Gather(async (questions: readonly string[]) => {
    asked.push([...questions]);
    if (questions.includes('fail')) throw new Error('away');
    return questions.map((question) => question.toUpperCase());
  }, questions_max);
  return { asked, gather };
}

test('what is asked in one turn of the event loop is asked together, each with its own answer', async () => {
  const { asked, gather } = capitals();
  expect(await Promise.all(['a', 'b', 'a'].map((question) => gather.one('x', question)))).toEqual([
    'A',
    'B',
    'A',
  ]);
  expect(await gather.one('x', 'later')).toBe('LATER');
  expect(asked).toEqual([['a', 'b', 'a'], ['later']]);
});

test('what has another name is asked apart', async () => {
  const { asked, gather } = capitals();
  await Promise.all([gather.one('x', 'a'), gather.one('y', 'b'), gather.one('x', 'c')]);
  expect(asked).toEqual([['a', 'c'], ['b']]);
});

test('no more are asked together than may be', async () => {
  const { asked, gather } = capitals(2);
  const answers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((question) => gather.one('x', question)));
  expect(answers).toEqual(['A', 'B', 'C', 'D', 'E']);
  expect(asked).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
});

test('a failure is told to all that asked, and to nobody who asks later', async () => {
  const { gather } = capitals();
  const outcomes = await Promise.allSettled([gather.one('x', 'fail'), gather.one('x', 'a')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await gather.one('x', 'a')).toBe('A');
});
