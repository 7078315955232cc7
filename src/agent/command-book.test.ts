import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Appliance } from './appliance.ts'
import { NotExecuted } from './appliance.ts'
import { createCommandBook } from './command-book.ts'
import { edgeExecutor } from './edge-role.ts'
import { Interrupted } from './interrupted.ts'
import type { State } from './state.ts'
import type { Upgrades } from './upgrades.ts'

function memoryState(): State {
  const files = new Map<string, string>()
  return {
    read: async (name) => files.get(name) ?? null,
    write: async (name, text) => void files.set(name, text),
    remove: async (name) => void files.delete(name),
    pathOf: (name) => name,
    list: async (folder) =>
      [...files.keys()].filter((name) => name.startsWith(folder)).map((name) => name.slice(folder.length + 1)),
  }
}

/** A state whose disk is full after some writes, until it is freed. */
function fullState() {
  const state = memoryState()
  let left = 0
  return {
    state,
    full: (writes: number): State => {
      left = writes
      const write: State['write'] = async (name, text) => {
        left -= 1
        if (left < 0) throw new Error('ENOSPC')
        await state.write(name, text)
      }
      return { ...state, write }
    },
    free: () => void (left = Infinity),
  }
}

function appliance(changes: Partial<Appliance> = {}): Appliance & { readonly done: string[] } {
  const done: string[] = []
  return {
    done,
    methods: [],
    services: async () => [],
    ownStats: async () => null,
    control: async (name, action) => void done.push(`${action} ${name}`),
    bouncePorts: async () => {},
    disconnectAps: async () => {},
    configure: async () => {},
    collectSupport: async () => {},
    awaitEarlier: async () => {},
    install: async () => {},
    distro: async () => null,
    downloadDistro: async () => {},
    upgradeDistro: async () => {},
    ...changes,
  }
}

const never = () => Promise.reject(new Error('No upgrade is expected'))
const none: Upgrades = { stage: never, upgradeService: never, stageDistro: never, upgradeDistro: never }
const running = new AbortController().signal
const roleOf = (machine: Appliance, state: State, bootId: string) => ({
  executor: edgeExecutor({ appliance: machine, upgrades: none, support: never, state }),
  bootId: async () => bootId,
})
const bookOf = (machine: Appliance, state = memoryState(), bootId = 'boot-1', signal = running) =>
  createCommandBook({ state, role: roleOf(machine, state, bootId), signal, onPoint: () => {} })
const id = (number: number) => `0193a1c0-0000-7000-8000-${String(number).padStart(12, '0')}`
const restart = (number: number, callId = number) => ({
  id: callId,
  method: 'service.control',
  params: { command_id: id(number), service: 'tunterm', action: 'restart' },
})

describe('a command', () => {
  test('that is repeated gets its recorded answer, also after a restart of the agent, and is not executed again', async () => {
    const machine = appliance()
    const state = memoryState()
    const first = await bookOf(machine, state).handle(restart(1, 1024))
    expect(first).toMatchObject({
      callId: 1024,
      answer: { result: { command_id: id(1), boot_id: 'boot-1', repeated: false } },
    })
    const again = await bookOf(machine, state, 'boot-2').handle(restart(1, 1030))
    expect(again).toMatchObject({ callId: 1030, answer: { result: { boot_id: 'boot-1', repeated: true } } })
    expect(machine.done).toEqual(['restart tunterm'])
  })

  test('that is repeated while it runs is executed once, and both calls are answered', async () => {
    const machine = appliance()
    const book = bookOf(machine)
    const answers = await Promise.all([book.handle(restart(1, 1024)), book.handle(restart(1, 1025))])
    expect(answers.map(({ callId }) => callId)).toEqual([1024, 1025])
    expect(machine.done).toEqual(['restart tunterm'])
  })

  test('that is repeated while its answer is being written is not executed again', async () => {
    const machine = appliance()
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const control: Appliance['control'] = async (name, action) => {
      machine.done.push(`${action} ${name}`)
      begun.resolve()
      await held.promise
    }
    const state = memoryState()
    let first: Promise<unknown> = Promise.resolve()
    // A read that begins while the command runs ends after it.
    const read = async (name: string) => {
      const text = await state.read(name)
      await first
      return text
    }
    const book = bookOf({ ...machine, control }, { ...state, read })
    const call = book.handle(restart(1, 1024))
    await begun.promise
    first = call
    const again = book.handle(restart(1, 1025))
    held.resolve()
    expect([(await call).callId, (await again).callId]).toEqual([1024, 1025])
    expect(machine.done).toEqual(['restart tunterm'])
  })

  test('that fails has another answer than one that was not executed', async () => {
    const fails = bookOf(appliance({ control: () => Promise.reject(new Error('exit 1')) }))
    expect((await fails.handle(restart(1))).answer).toMatchObject({ error: { code: 2, message: 'exit 1' } })
    const refuses = bookOf(appliance({ control: () => Promise.reject(new NotExecuted('no such service')) }))
    expect((await refuses.handle(restart(1))).answer).toMatchObject({ error: { code: 1, message: 'no such service' } })
  })

  test('that the end of the agent interrupts has no answer, and is completed at the next start', async () => {
    const state = memoryState()
    const killed = appliance({ control: () => Promise.reject(new Error('systemctl ended with SIGTERM')) })
    const stopped = bookOf(killed, state, 'boot-1', AbortSignal.abort())
    await expect(stopped.handle(restart(1))).rejects.toThrow(Interrupted)
    const machine = appliance()
    const next = bookOf(machine, state)
    expect(await next.undelivered()).toEqual([])
    expect([await next.resume(), await next.resume()]).toEqual([true, false])
    expect(machine.done).toEqual(['restart tunterm'])
    expect(await next.undelivered()).toHaveLength(1)
  })

  test('is undelivered until the gateway has its answer', async () => {
    const book = bookOf(appliance())
    await book.handle(restart(1, 1024))
    expect(await book.undelivered()).toMatchObject([{ callId: 1024, commandId: id(1) }])
    await book.recordDelivered(id(1))
    expect(await book.undelivered()).toEqual([])
  })

  test('that a full disk can not record is refused, and not executed', async () => {
    const machine = appliance()
    const { full } = fullState()
    const refused = await bookOf(machine, full(0)).handle(restart(1, 1024))
    const message = 'The agent could not record the command: ENOSPC'
    expect(refused).toMatchObject({
      callId: 1024,
      answer: { error: { code: 1, message, data: { command_id: id(1) } } },
    })
    expect(machine.done).toEqual([])
  })

  test('whose answer a full disk can not record is executed once, and its answer is kept until the disk has room', async () => {
    const machine = appliance()
    const { state, full, free } = fullState()
    const book = bookOf(machine, full(1))
    const done = { answer: { result: { command_id: id(1) } } }
    expect(await book.handle(restart(1, 1024))).toMatchObject(done)
    // The agent connects again.
    expect(await book.resume()).toBe(false)
    expect(await book.openIds()).toEqual([id(1)])
    expect(await book.undelivered()).toMatchObject([{ callId: 1024, ...done }])
    expect(await book.handle(restart(1, 1025))).toMatchObject(done)
    free()
    await book.resume()
    expect(await bookOf(machine, state).undelivered()).toMatchObject([{ callId: 1024, ...done }])
    expect(machine.done).toEqual(['restart tunterm'])
  })

  test('whose answer has arrived is no longer undelivered, also if a full disk can not record that', async () => {
    const { full } = fullState()
    const book = bookOf(appliance(), full(2))
    await book.handle(restart(1, 1024))
    await book.recordDelivered(id(1))
    expect(await book.undelivered()).toEqual([])
  })

  test('of long ago is forgotten, and the folder does not grow', async () => {
    const state = memoryState()
    const book = bookOf(appliance(), state)
    for (let number = 1; number <= 260; number += 1) await book.handle(restart(number))
    const names = await state.list('commands')
    expect([names.length, names.includes(`${id(4)}.json`), names.includes(`${id(5)}.json`)]).toEqual([256, false, true])
  })
})

test('an unknown method and other params have the standard errors, and nothing is executed or recorded', async () => {
  const machine = appliance()
  const state = memoryState()
  const book = bookOf(machine, state)
  const codeOf = async (method: string, params: unknown) => {
    const { answer } = await book.handle({ id: 1, method, params })
    return 'error' in answer ? answer.error.code : 0
  }
  expect(await codeOf('take.over', {})).toBe(-32601)
  expect(await codeOf('service.control', { service: 'tunterm' })).toBe(-32602)
  expect(await codeOf('service.control', { ...restart(1).params, command_id: '../../key' })).toBe(-32602)
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.anything(), async (method, params) => {
      expect(await codeOf(method, params)).toBeLessThan(0)
    }),
  )
  expect([machine.done, await state.list('commands')]).toEqual([[], []])
})
