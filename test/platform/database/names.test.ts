import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  type NameResolver,
  type NameResolverOptions,
  createNameResolver,
} from '../../../src/platform/names/name-resolver.ts'
import { type NameServer, startNameServer } from '../../support/peers/name-server.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

let nowMs: number
let server: NameServer
beforeEach(async () => {
  nowMs = 0
  server = await startNameServer()
})

const neverAborted = new AbortController().signal
const of = (owner: string) => ({ owner, signal: neverAborted })

function open(options: NameResolverOptions = {}): NameResolver {
  const names = createNameResolver({
    servers: [server.address],
    hostsFile: '/nowhere',
    resolvConf: '/nowhere',
    nowMs: () => nowMs,
    ...options,
  })
  onTestFinished(() => names.close())
  return names
}

const countOf = (name: string) => server.asked.filter((asked) => asked === name).length

describe('answers', () => {
  it('contain all addresses of both families, IPv4 first', async () => {
    server.answer('both.test', { a: ['192.0.2.1', '192.0.2.2'], aaaa: ['2001:db8::1'] })
    expect(await open().resolve('Both.Test', of('o'))).toEqual([
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ])
  })

  it('may contain one family alone', async () => {
    server.answer('six.test', { aaaa: ['2001:db8::1'] })
    expect(await open().resolve('six.test', null)).toEqual([{ address: '2001:db8::1', family: 6 }])
  })

  it('are cached for their TTL, within bounds', async () => {
    server.answer('minute.test', { a: ['192.0.2.1'], ttlS: 60 })
    server.answer('zero.test', { a: ['192.0.2.1'], ttlS: 0 })
    server.answer('week.test', { a: ['192.0.2.1'], ttlS: 7 * 86_400 })
    const names = open()
    const queriesAt = async (ms: number) => {
      nowMs = ms
      for (const name of ['minute.test', 'zero.test', 'week.test']) await names.resolve(name, of('o'))
      return ['minute.test', 'zero.test', 'week.test'].map((name) => countOf(name) / 2)
    }
    expect(await queriesAt(0)).toEqual([1, 1, 1])
    expect(await queriesAt(999)).toEqual([1, 1, 1])
    expect(await queriesAt(1000)).toEqual([1, 2, 1])
    expect(await queriesAt(59_999)).toEqual([1, 3, 1])
    expect(await queriesAt(60_000)).toEqual([2, 3, 1])
    expect(await queriesAt(300_000)).toEqual([3, 4, 2])
  })

  it('are known as long as they are cached, if they have addresses', async () => {
    server.answer('minute.test', { a: ['192.0.2.1'], ttlS: 60 })
    server.answer('none.test', {})
    const names = open()
    const areKnown = () => ['Minute.Test', 'none.test', 'localhost'].map((name) => names.isKnown(name))
    expect(areKnown()).toEqual([false, false, true])
    await names.resolve('minute.test', of('o'))
    await expect(names.resolve('none.test', of('o'))).rejects.toThrow('none.test')
    expect(areKnown()).toEqual([true, false, true])
    nowMs = 60_001
    expect(areKnown()).toEqual([false, false, true])
    expect([countOf('minute.test'), countOf('none.test')]).toEqual([2, 2])
  })

  it('without addresses are cached for five seconds', async () => {
    const names = open()
    const failing = () =>
      expect(names.resolve('none.test', of('o'))).rejects.toThrow('The name none.test has no public address')
    await failing()
    server.answer('none.test', { a: ['192.0.2.1'] })
    nowMs = 4999
    await failing()
    nowMs = 5000
    expect(await names.resolve('none.test', of('o'))).toHaveLength(1)
  })

  it('that do not arrive yield an error with the reason', async () => {
    server.answer('silent.test', 'silent')
    await expect(open().resolve('silent.test', of('o'))).rejects.toThrow(
      'The name silent.test could not be resolved: no name server answered in time',
    )
  })
})

describe('a look-up', () => {
  it('ends in time as a whole, however many names a slow name server is queried for', async () => {
    const slow = await startNameServer(600)
    const resolvConf = join(await temporaryDir(), 'resolv.conf')
    await writeFile(resolvConf, 'search one.test two.test three.test\n')
    slow.answer('hooks.three.test', { a: ['192.0.2.1'] })
    const names = open({ servers: [slow.address], resolvConf, limitMs: 1000 })
    await expect(names.resolve('hooks', of('o'))).rejects.toThrow(
      'The name hooks could not be resolved: no name server answered in time',
    )
    // The answer about the second name arrives too late; it causes no further query.
    slow.answer('other.one.test', { a: ['192.0.2.2'] })
    expect(await names.resolve('other', of('o'))).toHaveLength(1)
    expect(slow.asked).not.toContain('hooks.three.test')
  })

  it('returns the addresses of one family if the other one is not answered in time', async () => {
    server.answer('half.test', { a: ['192.0.2.1'], aaaa: 'silent' })
    const names = open({ limitMs: 300 })
    expect(await names.resolve('half.test', of('o'))).toEqual([{ address: '192.0.2.1', family: 4 }])
  })

  it('leaves time for the second name server if the first one is silent', async () => {
    server.answer('hooks.test', 'silent')
    const second = await startNameServer()
    second.answer('hooks.test', { a: ['192.0.2.1'] })
    const names = open({ servers: [server.address, second.address] })
    expect(await names.resolve('hooks.test', of('o'))).toHaveLength(1)
    expect(countOf('hooks.test')).toBeGreaterThan(0)
  })
})

describe('a silent name server', () => {
  it('does not delay other names, and each organization gets only a few look-ups at a time', async () => {
    const names = open()
    server.answer('fine.test', { a: ['192.0.2.1'] })
    server.answer('late.test', { a: ['192.0.2.2'] })
    const silent = Array.from({ length: 8 }, (_, index) => `silent${index}.test`)
    for (const name of silent) server.answer(name, 'silent')
    const hanging = silent.map((name) => names.resolve(name, of('a')))
    await waitUntil('all are asked for', () => server.asked.length === 16)
    const late = names.resolve('late.test', of('a'))
    expect(await names.resolve('fine.test', of('b'))).toHaveLength(1)
    expect(countOf('late.test')).toBe(0)
    server.answerHeld({ a: ['192.0.2.3'] })
    expect(await Promise.all(hanging)).toHaveLength(8)
    expect(await late).toEqual([{ address: '192.0.2.2', family: 4 }])
  })

  it('leaves no aborted look-up in the queue', async () => {
    const names = open()
    for (let index = 0; index < 8; index += 1) server.answer(`silent${index}.test`, 'silent')
    const hanging = Array.from({ length: 8 }, (_, index) => names.resolve(`silent${index}.test`, of('a')))
    const cutting = new AbortController()
    const cut = names.resolve('never.test', { owner: 'a', signal: cutting.signal })
    const last = names.resolve('last.test', of('a'))
    server.answer('last.test', { a: ['192.0.2.1'] })
    cutting.abort(new Error('given up'))
    await expect(cut).rejects.toThrow('given up')
    await waitUntil('all are asked for', () => server.asked.length === 16)
    server.answerHeld({ a: ['192.0.2.3'] })
    await Promise.all(hanging)
    expect(await last).toHaveLength(1)
    expect(countOf('never.test')).toBe(0)
  })

  it('gets one query for all callers that look up the same name', async () => {
    const names = open()
    server.answer('shared.test', 'silent')
    const all = Array.from({ length: 5 }, (_, index) => names.resolve('shared.test', of(String(index))))
    await waitUntil('it is asked for', () => countOf('shared.test') === 2)
    server.answerHeld({ a: ['192.0.2.1'] })
    expect(await Promise.all(all)).toHaveLength(5)
    expect(countOf('shared.test')).toBe(2)
  })
})

describe('files of the machine', () => {
  it('the hosts file takes precedence, and is read again when it has changed', async () => {
    const hostsFile = join(await temporaryDir(), 'hosts')
    await writeFile(hostsFile, '10.0.0.7 hooks.lan Hooks # ours\n::7 hooks.lan\n')
    server.answer('hooks.lan', { a: ['192.0.2.1'] })
    const names = open({ hostsFile })
    expect(await names.resolve('HOOKS.lan', of('o'))).toEqual([
      { address: '10.0.0.7', family: 4 },
      { address: '::7', family: 6 },
    ])
    expect(await names.resolve('hooks', of('o'))).toHaveLength(1)
    await writeFile(hostsFile, '10.0.0.8 hooks.lan new\n')
    nowMs = 1000
    expect(await names.resolve('hooks.lan', of('o'))).toEqual([{ address: '10.0.0.8', family: 4 }])
    expect(await names.resolve('new.', of('o'))).toEqual([{ address: '10.0.0.8', family: 4 }])
    await writeFile(hostsFile, '')
    nowMs = 2000
    expect(await names.resolve('hooks.lan', of('o'))).toEqual([{ address: '192.0.2.1', family: 4 }])
  })

  it('localhost needs neither a file nor a name server', async () => {
    const local = [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]
    expect(await open().resolve('localhost', of('o'))).toEqual(local)
    expect(await open().resolve('app.localhost', of('o'))).toEqual(local)
    expect(server.asked).toEqual([])
  })

  it('names are completed by the search domains of resolv.conf', async () => {
    const resolvConf = join(await temporaryDir(), 'resolv.conf')
    await writeFile(resolvConf, 'search one.test two.test\n')
    server.answer('hooks.two.test', { a: ['192.0.2.1'] })
    const names = open({ resolvConf })
    expect(await names.resolve('hooks', of('o'))).toHaveLength(1)
    expect([...new Set(server.asked)]).toEqual(['hooks.one.test', 'hooks.two.test'])
    await expect(names.resolve('hooks.', of('o'))).rejects.toThrow('has no public address')
  })
})
