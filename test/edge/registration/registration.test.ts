import 'reflect-metadata'
import { X509Certificate, createPrivateKey, generateKeyPairSync, webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from '@peculiar/x509'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signingRequest } from '../../../src/agent/signing-request.ts'
import { addMxedge, lastRecords } from '../../support/fleets/mxedges.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import { newKey, register, tryToRegister } from '../world.ts'

let server: TestServer
let nowMs = Date.now()
beforeAll(async () => {
  server = await startTestServer({ now: () => new Date(nowMs) })
})
afterAll(() => server.close())

const post = (body: object) => server.call('POST', '/mxedges/register', { as: null, body })
const unusable = { status: 400, body: { reason: 'no edge appliance awaits its registration with this code' } }

describe('an agent that registers with the code of an appliance', () => {
  test('gets a certificate for its own key, which names the appliance and its epoch', async () => {
    const { id, magic } = await addMxedge(server)
    const key = newKey()
    const { status, body } = await tryToRegister(server, magic, key)
    expect([status, body]).toEqual([
      200,
      {
        mxedge_id: id,
        certificate: expect.stringContaining('BEGIN CERTIFICATE'),
        ca: expect.stringContaining('BEGIN CERTIFICATE'),
        gateway: { host: '127.0.0.1', port: server.edge.port },
      },
    ])
    const certificate = new X509Certificate(body.certificate)
    expect(certificate.subject).toBe(`CN=edge-${id}-1`)
    expect(certificate.checkPrivateKey(key)).toBe(true)
    expect(certificate.verify(new X509Certificate(body.ca).publicKey)).toBe(true)
    expect([certificate.ca, certificate.keyUsage]).toEqual([false, ['1.3.6.1.5.5.7.3.2']])
    expect((await server.call('GET', `/orgs/${server.org.orgId}/mxedges/${id}`)).body.mxagent_registered).toBe(true)
    const { audit, event } = await lastRecords(server)
    expect(audit).toMatchObject({
      message: 'An appliance registered as edge appliance "Edge"',
      after: { mxedge_id: id },
    })
    expect(event).toMatchObject({ type: 'ME_REGISTERED', mxedge_id: id })
    expect(JSON.stringify([audit, event])).not.toContain(magic)
  })

  test('may ask again with the same key, because the answer may be lost, but not with another one', async () => {
    const { magic } = await addMxedge(server)
    const key = newKey()
    const first = await register(server, magic, key)
    expect((await register(server, ` ${magic.toLowerCase()}`, key)).mxedgeId).toBe(first.mxedgeId)
    expect(await tryToRegister(server, magic, newKey())).toMatchObject(unusable)
  })

  test('wins alone when many agents try the same code at once', async () => {
    const { magic } = await addMxedge(server)
    const answers = await Promise.all(Array.from({ length: 5 }, () => tryToRegister(server, magic, newKey())))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400, 400])
  })

  test('is refused with the code of an epoch that has ended', async () => {
    const { id, magic } = await addMxedge(server)
    await server.call('POST', `/orgs/${server.org.orgId}/mxedges/${id}/restart`)
    expect(await tryToRegister(server, magic, newKey())).toMatchObject(unusable)
  })
})

describe('a signing request', () => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

  test('can ask for no other name, and for no authority', async () => {
    const { id, magic } = await addMxedge(server)
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const csr = await Pkcs10CertificateRequestGenerator.create(
      {
        name: 'CN=24fe9a0f48f0,O=TIP',
        keys,
        signingAlgorithm: algorithm,
        extensions: [
          new BasicConstraintsExtension(true, 3, true),
          new SubjectAlternativeNameExtension([{ type: 'dns', value: 'gateway.example' }]),
        ],
      },
      webcrypto,
    )
    const { status, body } = await post({ code: magic, csr: csr.toString('pem') })
    expect(status).toBe(200)
    const certificate = new X509Certificate(body.certificate)
    expect([certificate.subject, certificate.ca, certificate.subjectAltName]).toEqual([
      `CN=edge-${id}-1`,
      false,
      undefined,
    ])
  })

  const rsa = createPrivateKey(
    generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    }).privateKey,
  )
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  const good = signingRequest(newKey())
  const bytes = Buffer.from(good.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  const pem = (der: Buffer) =>
    `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
  const tampered = Buffer.from(bytes)
  // A byte of the subject, which the signature covers.
  tampered.writeUInt8(0x58, bytes.indexOf('signalbox-agent'))

  test.each([
    ['is not PEM', 'none', 'must be the PEM'],
    ['is empty', pem(Buffer.alloc(0)), 'must be the PEM'],
    ['is cut off', pem(bytes.subarray(0, 90)), 'must be the PEM'],
    ['is of zeroes', pem(Buffer.alloc(300)), 'must be the PEM'],
    ['has a key of another curve', signingRequest(p384), 'must be for a key on the curve P-256'],
    ['has an RSA key', signingRequest(rsa), 'must be for a key on the curve P-256'],
    ['was changed after it was signed', pem(tampered), 'must be signed with SHA-256 by its own key'],
    ['is longer than 4 KB', pem(Buffer.alloc(4000)), ''],
  ])('that %s is refused and uses up no code', async (_, csr, why) => {
    const { magic } = await addMxedge(server)
    nowMs += 60_000
    const { status, body } = await post({ code: magic, csr })
    expect([status, body.detail]).toEqual([400, expect.stringContaining(`Invalid field csr: ${why}`)])
    await register(server, magic)
  })

  test('that was damaged at any byte is refused with a reason', async () => {
    for (let at = 0; at < bytes.length; at += 3) {
      const damaged = Buffer.from(bytes)
      damaged.writeUInt8(damaged.readUInt8(at) ^ 0x15, at)
      nowMs += 60_000
      const { status, body } = await post({ code: 'NOBODY', csr: pem(damaged) })
      expect([status, body.detail]).toEqual([400, expect.stringMatching(/^Invalid field (csr|code): /)])
    }
  })
})

test("codes can't be guessed: an address has 30 wrong tries a minute", async () => {
  nowMs += 60_000
  const csr = signingRequest(newKey())
  for (let tries = 0; tries < 30; tries += 1) expect(await post({ code: `GUESS${tries}`, csr })).toMatchObject(unusable)
  expect((await post({ code: 'GUESS', csr })).status).toBe(429)
  nowMs += 60_000
  expect(await post({ code: 'GUESS', csr })).toMatchObject(unusable)
})
