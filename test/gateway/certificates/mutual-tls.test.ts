import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get } from 'node:https'
import { type TLSSocket, connect as connectTls } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { issueDeviceCertificate, makeCa } from '../../../src/gateway/certificates/device-ca.ts'
import type { Gateway } from '../../../src/gateway/start-gateway.ts'
import { issueCertificate } from '../../support/peers/client-certificates.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { connectDevice } from '../connect-device.ts'
import { type GatewayHarness, createGatewayHarness, newMac, openDevice } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

function counted(gateway: Gateway, name: keyof ReturnType<Gateway['counters']['read']>): Promise<unknown> {
  return waitUntil(`count of ${name}`, () => gateway.counters.read()[name] > 0)
}

const upgradeRequest = [
  'GET / HTTP/1.1',
  'Host: a',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
  '\r\n',
].join('\r\n')

/** Completes the TLS handshake of a device that has sent no request yet. */
async function openTls(port: number): Promise<TLSSocket> {
  const { certificatePem: cert, keyPem: key } = await issueDeviceCertificate(harness.ca, newMac())
  const socket = connectTls({ host: '127.0.0.1', port, ca: harness.ca.certificatePem, cert, key }).resume()
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

/** Returns the first line of the gateway's answer; null if the gateway closes instead. */
function firstLine(socket: TLSSocket): Promise<string | null> {
  return new Promise((resolve) => {
    socket.once('data', (data: Buffer) => resolve(data.toString('latin1').split('\r\n', 1)[0] ?? ''))
    socket.once('close', () => resolve(null))
  })
}

describe('mutual TLS', () => {
  test("admits a device with a certificate of the gateway's CA, under the MAC of its certificate", async () => {
    const gateway = await harness.start()
    const { mac } = await connectDevice(harness, gateway.port)
    expect((await harness.status(mac)).firmware).toBe('1.0.0')
  })

  test('refuses a certificate of another CA', async () => {
    const gateway = await harness.start()
    const stranger = await makeCa()
    const trust = harness.ca.certificatePem
    const refused = openDevice(gateway.port, stranger, { trust })
    await expect(refused).rejects.toThrow()
    await counted(gateway, 'refused_tls')
  })

  test("refuses a certificate of the gateway's CA that has expired", async () => {
    const gateway = await harness.start()
    const [valid, anHourAgo] = [await issueCertificate(harness.ca, `CN=${newMac()}`), new Date(Date.now() - 3600e3)]
    await openDevice(gateway.port, harness.ca, { identity: valid })
    const identity = await issueCertificate(harness.ca, `CN=${newMac()}`, false, anHourAgo)
    await expect(openDevice(gateway.port, harness.ca, { identity })).rejects.toThrow()
    await counted(gateway, 'refused_tls')
  })

  test("refuses a certificate of the gateway's CA whose name is not a MAC", async () => {
    const gateway = await harness.start()
    await expect(openDevice(gateway.port, harness.ca, { mac: 'gateway' })).rejects.toThrow('403')
    await counted(gateway, 'refused_identity')
  })

  test.each([
    ['beside another attribute', (mac: string) => `O=Signalbox, CN=${mac}`],
    ['in one element with another attribute', (mac: string) => `CN=${mac}+2.5.4.5=100200`],
    ['beside a value with special characters', (mac: string) => `O=a\\+CN\\=${newMac()}\\, b, CN=${mac}`],
  ])('admits a certificate with one common name, %s', async (_where, subject) => {
    const gateway = await harness.start()
    const mac = newMac()
    await harness.claim(mac)
    const device = await openDevice(gateway.port, harness.ca, {
      mac,
      identity: await issueCertificate(harness.ca, subject(mac)),
    })
    device.hello()
    await harness.untilConnected(mac)
  })

  test.each([
    ['two elements', (mac: string) => `CN=${mac}, CN=${newMac()}`],
    ['one element', (mac: string) => `CN=${mac}+CN=${newMac()}`],
    ['an element with another attribute', (mac: string) => `CN=${mac}, OU=x+CN=${newMac()}`],
    ['no element', () => 'O=Signalbox'],
    ['no element, but in a value', (mac: string) => `O=a+OU=CN\\=${mac}`],
  ])('refuses a certificate with common names in %s', async (_where, subject) => {
    const gateway = await harness.start()
    const identity = await issueCertificate(harness.ca, subject(newMac()))
    await expect(openDevice(gateway.port, harness.ca, { identity })).rejects.toThrow('403')
    await counted(gateway, 'refused_identity')
  })

  test('drops a connection that sends no complete request within 20 s', async () => {
    const gateway = await harness.start()
    const [silent, slow] = await Promise.all([openTls(gateway.port), openTls(gateway.port)])
    slow.write('GET / HTTP/1.1\r\nHost: a\r\n')
    const closed = Promise.all([silent, slow].map((socket) => once(socket, 'close')))
    harness.advance(19_999)
    slow.write('X-Still: here\r\n')
    const session = await openDevice(gateway.port, harness.ca)
    harness.advance(2)
    await closed
    expect(session.socket.readyState).toBe(session.socket.OPEN)
  })

  test('closes a request without an answer if it may have waited for more than 4 s while the event loop was blocked', async () => {
    // No timer runs in between, as if other work blocked the event loop.
    const gateway = await harness.start({ limits: { tickMs: 1_000_000, lookMs: 1_000_000 } })
    const [prompt, late] = await Promise.all([openTls(gateway.port), openTls(gateway.port)])
    harness.advance(4000)
    prompt.write(upgradeRequest)
    expect(await firstLine(prompt)).toBe('HTTP/1.1 101 Switching Protocols')
    harness.advance(1)
    late.write(upgradeRequest)
    expect(await firstLine(late)).toBeNull()
    expect(gateway.counters.read()).toMatchObject({ sessions: 1, refused_late: 1 })
  })

  test('answers a request on a slow connection whose TLS handshake took more than 4 s', async () => {
    const gateway = await harness.start()
    const slow = await openTls(gateway.port)
    harness.advance(15_000)
    // Meanwhile the gateway has read everything that has arrived.
    await openDevice(gateway.port, harness.ca)
    slow.write(upgradeRequest)
    expect(await firstLine(slow)).toBe('HTTP/1.1 101 Switching Protocols')
  })

  test('negotiates no compression, whatever the client offers', async () => {
    const gateway = await harness.start()
    const socket = await openTls(gateway.port)
    const offers = ['Sec-WebSocket-Protocol: ucentral-broker', 'Sec-WebSocket-Extensions: permessage-deflate', '', '']
    const answer = once(socket, 'data')
    socket.write(upgradeRequest.replace('\r\n\r\n', `\r\n${offers.join('\r\n')}`))
    const [head] = (await answer) as [Buffer]
    expect(head.toString('latin1')).toMatch(/^HTTP\/1.1 101 /)
    expect(head.toString('latin1')).not.toMatch(/sec-websocket-extensions/i)
  })

  test('answers plain HTTP requests with 426', async () => {
    const gateway = await harness.start()
    const { certificatePem: cert, keyPem: key } = await issueDeviceCertificate(harness.ca, newMac())
    const status = await new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port: gateway.port, ca: harness.ca.certificatePem, cert, key }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      }).on('error', reject)
    })
    expect(status).toBe(426)
  })
})

describe('connections beyond the number of concurrent TLS handshakes', () => {
  const admission = { perSecond: 1, burst: 1, handshakes: 10, waitMs: 2000 }

  test('wait for their turn, and have their full time for the upgrade from then on', async () => {
    const gateway = await harness.start({ limits: { admission, upgradeMs: 500 } })
    await openDevice(gateway.port, harness.ca)
    // This is one more than the number that can be admitted within the wait.
    const results = Promise.allSettled([1, 2, 3].map(() => openDevice(gateway.port, harness.ca)))
    await counted(gateway, 'refused_busy')
    expect(gateway.counters.read()).toMatchObject({ sessions: 1, refused_busy: 1 })
    for (const sessions of [2, 3]) {
      harness.advance(1000)
      await waitUntil('another session', () => gateway.counters.read().sessions === sessions)
    }
    expect((await results).filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    expect(gateway.counters.read()).toMatchObject({ refused_busy: 1, refused_late: 0 })
  })

  test('are closed if they have waited too long', async () => {
    const gateway = await harness.start({ limits: { admission: { ...admission, waitMs: 900 } } })
    await openDevice(gateway.port, harness.ca)
    const results = Promise.allSettled([1, 2].map(() => openDevice(gateway.port, harness.ca)))
    await counted(gateway, 'refused_busy')
    harness.advance(901)
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(gateway.counters.read()).toMatchObject({ sessions: 1, refused_busy: 2 })
  })
})
