import { type Question, Questions } from '../../../services/boot/http-messages';

const text = (body: string) => ({ content_type: 'text/plain', body });

test('a question is answered by its number, and by nothing once the other process has ended', async () => {
  const sent: Question[] = [];
  const questions = new Questions((question) => void sent.push(question));
  const [first, second] = [questions.ask('metrics', 60_000), questions.ask('metrics', 60_000)];
  questions.receive({ type: 'answer', call: sent[1]!.call, value: text('second') });
  expect(await second).toEqual(text('second'));
  questions.close();
  expect(await first).toBeUndefined();
  expect(await questions.ask('metrics', 60_000)).toBeUndefined();
  expect(sent).toHaveLength(2);
});
