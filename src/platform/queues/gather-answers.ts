import { type GatherOptions, createGatherer } from './gather.ts'

/** As a Gatherer, for work that answers each item. */
export interface AnsweringGatherer<T, R> {
  /** Resolves with the answer to the item. Rejects if there is none, and as Gatherer.add does. */
  add(item: T): Promise<R>
  /** Resolves when all that was added so far is settled; never rejects. */
  idle(): Promise<void>
}

export interface AnswerOptions<K, T, R> extends Pick<GatherOptions<T>, 'name' | 'log' | 'batch' | 'spacing'> {
  readonly keyOf: (item: T) => K
  /** Returns the answer to each item by its key, because the rows of a SQL statement have no order. */
  readonly answer: (items: readonly T[]) => Promise<ReadonlyMap<K, R>>
}

interface Question<K, T, R> {
  readonly key: K
  readonly item: T
  answers: ReadonlyMap<K, R>
}

/** A failure is the caller's: work that fails is not repeated, except to find the items that are at fault. */
export function gatherAnswers<K, T, R extends {} | null>(options: AnswerOptions<K, T, R>): AnsweringGatherer<T, R> {
  const { keyOf, answer, ...rest } = options
  const gatherer = createGatherer<Question<K, T, R>>({
    ...rest,
    keepsTrying: false,
    keyOf: ({ key }) => key,
    async write(questions) {
      const answers = await answer(questions.map(({ item }) => item))
      for (const question of questions) question.answers = answers
    },
  })
  return {
    async add(item) {
      const question: Question<K, T, R> = { key: keyOf(item), item, answers: new Map() }
      await gatherer.add(question)
      const result = question.answers.get(question.key)
      if (result === undefined) throw new Error(`${options.name}: a batch did not answer one of its items`)
      return result
    },
    idle: () => gatherer.flush(),
  }
}
