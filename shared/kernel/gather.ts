import { setImmediate as nextTurn } from 'node:timers/promises';

interface Batch<Question, Answer> {
  readonly questions: Question[];
  readonly answers: Promise<readonly Answer[]>;
}

/**
 * Asks together what is asked for under the same name within one turn of the event loop: many requests that come at
 * once cost one round trip, and one that comes alone waits for nothing. `ask` gives an answer per question, in order;
 * where it throws, all that asked are told.
 */
export class Gather<Question, Answer> {
  private readonly ask: (questions: readonly Question[]) => Promise<readonly Answer[]>;
  private readonly questions_max: number;
  /** Those that take more questions. */
  private readonly open = new Map<string, Batch<Question, Answer>>();

  constructor(
    ask: (questions: readonly Question[]) => Promise<readonly Answer[]>,
    questions_max = Number.POSITIVE_INFINITY,
  ) {
    this.ask = ask;
    this.questions_max = questions_max;
  }

  async one(name: string, question: Question): Promise<Answer> {
    const batch = this.open.get(name) ?? this.begin(name);
    const index = batch.questions.push(question) - 1;
    if (batch.questions.length === this.questions_max) this.open.delete(name);
    return (await batch.answers)[index]!;
  }

  private begin(name: string): Batch<Question, Answer> {
    const questions: Question[] = [];
    const answers = nextTurn().then(() => {
      // A full one may have been followed by another.
      if (this.open.get(name) === batch) this.open.delete(name);
      return this.ask(questions);
    });
    const batch: Batch<Question, Answer> = { questions, answers };
    this.open.set(name, batch);
    return batch;
  }
}
