import { expect, test, vi } from 'vitest'
import { createFailureLevel } from '../failure-level.ts'
import type { UcentralHost } from './host.ts'
import { receiveCall } from './receive.ts'
import type { Session } from './session.ts'

test('devices that connect while the database fails are asked to try again, and few of them are errors in the log', async () => {
  const log = { error: vi.fn(), debug: vi.fn() }
  const host = {
    ctx: { log },
    counters: { add: vi.fn() },
    failureLevel: createFailureLevel('error', () => 0),
    connect: () => Promise.reject(new Error('Connection terminated unexpectedly')),
  } as unknown as UcentralHost
  const session = { mac: '020000000001', isConnected: false, address: null, close: vi.fn() }
  const params = { serial: session.mac, uuid: 1, firmware: '1', capabilities: { compatible: 'EAP102' } }
  for (let time = 1; time <= 3; time += 1)
    await receiveCall(host, session as unknown as Session, { kind: 'call', id: null, method: 'connect', params })
  expect(session.close.mock.calls).toEqual([['try_again'], ['try_again'], ['try_again']])
  expect([log.error, log.debug].map(({ mock }) => mock.calls.length)).toEqual([1, 2])
})
