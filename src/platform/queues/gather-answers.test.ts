import fc from 'fast-check'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { gatherAnswers } from './gather-answers.ts'

const options = { name: 'answers', log: pino({ level: 'silent' }), batch: { count: 10, bytes: Infinity } }

test('an item that is not answered fails; the others of its batch do not', async () => {
  const gatherer = gatherAnswers<number, number, string>({
    ...options,
    keyOf: (item) => item,
    answer: async () => Promise.resolve(new Map([[2, 'two']])),
  })
  const added = Promise.allSettled([1, 2].map((item) => gatherer.add(item)))
  expect((await added).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
})

test('answers each item with its own result, in whatever order its batch answers', async () => {
  const items = fc.array(fc.record({ key: fc.integer({ min: 0, max: 20 }), value: fc.string() }), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(items, fc.infiniteStream(fc.nat()), async (all, order) => {
      const gatherer = gatherAnswers<number, (typeof all)[number], string>({
        ...options,
        keyOf: ({ key }) => key,
        async answer(batch) {
          await Promise.resolve()
          const ranked = batch.map(({ key, value }) => ({ key, value, rank: order.next().value }))
          const shuffled = ranked.toSorted((a, b) => a.rank - b.rank)
          return new Map(shuffled.map(({ key, value }) => [key, `${key} ${value}`]))
        },
      })
      const answers = await Promise.all(all.map((item) => gatherer.add(item)))
      expect(answers).toEqual(all.map(({ key, value }) => `${key} ${value}`))
      await gatherer.idle()
    }),
  )
})
