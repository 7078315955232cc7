import { expect, it } from 'vitest'
import { createReachability } from './reachability.ts'

function make() {
  const answers: PromiseWithResolvers<boolean>[] = []
  const waiting: (() => void)[] = []
  const changes: boolean[] = []
  const reachability = createReachability({
    probe() {
      const answer = Promise.withResolvers<boolean>()
      answers.push(answer)
      return answer.promise
    },
    schedule: (run) => waiting.push(run),
  })
  reachability.subscribe(() => changes.push(reachability.isAway()))
  const answer = async (isThere: boolean): Promise<void> => {
    answers.at(-1)?.resolve(isThere)
    await Promise.resolve()
    await Promise.resolve()
  }
  return { reachability, answers, waiting, changes, answer }
}

it('asks once before it says that the server is away, and until it is back', async () => {
  const { reachability, answers, waiting, changes, answer } = make()
  reachability.suspect()
  reachability.suspect()
  expect([answers.length, reachability.isAway()]).toEqual([1, false])
  await answer(false)
  reachability.suspect()
  expect([answers.length, changes]).toEqual([1, [true]])
  waiting.shift()?.()
  await answer(false)
  waiting.shift()?.()
  await answer(true)
  expect([answers.length, waiting.length, changes]).toEqual([3, 0, [true, false]])
})

it('does not take the server for away because of one call', async () => {
  const { reachability, answers, waiting, changes, answer } = make()
  for (let failure = 1; failure <= 3; failure += 1) {
    reachability.suspect()
    await answer(true)
    expect(answers).toHaveLength(failure)
  }
  expect([changes, waiting]).toEqual([[], []])
})
