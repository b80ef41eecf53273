interface Batch<Question, Answer> {
  readonly questions: Question[];
  readonly answers: Promise<readonly Answer[]>;
  /** Takes no more questions and asks; again, it does nothing. */
  readonly send: () => void;
}

/**
 * Asks together what is asked for under the same name within one turn of the event loop: many requests that come at
 * once cost one round trip, and one that comes alone waits for nothing. `ask` gives an answer per question, in order;
 * where it throws, all that asked are told.
 */
export class Gather<Question, Answer> {
  private readonly ask: (questions: readonly Question[]) => Promise<readonly Answer[]>;
  private readonly questions_max: number;
  private readonly batches = new Map<string, Batch<Question, Answer>>();

  constructor(ask: (questions: readonly Question[]) => Promise<readonly Answer[]>, questions_max: number) {
    this.ask = ask;
    this.questions_max = questions_max;
  }

  async one(name: string, question: Question): Promise<Answer> {
    const batch = this.batches.get(name) ?? this.open(name);
    const index = batch.questions.push(question) - 1;
    if (batch.questions.length === this.questions_max) batch.send();
    return (await batch.answers)[index]!;
  }

  private open(name: string): Batch<Question, Answer> {
    const questions: Question[] = [];
    let send = (): void => {};
    const closed = new Promise<void>((resolve) => {
      send = resolve;
    });
    const answers = closed.then(() => this.ask(questions));
    const batch: Batch<Question, Answer> = { questions, answers, send: () => this.send(name, batch, send) };
    this.batches.set(name, batch);
    setImmediate(batch.send);
    return batch;
  }

  private send(name: string, batch: Batch<Question, Answer>, send: () => void): void {
    if (this.batches.get(name) === batch) this.batches.delete(name);
    send();
  }
}
