import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type Config, parseConfig } from '../../src/app/config/config.ts'
import { openTls } from '../../src/app/tls.ts'
import { issueGatewayTls, loadDeviceCa, makeCa } from '../../src/gateway/certificates/device-ca.ts'
import { issueCertificate } from '../support/peers/client-certificates.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** Returns true if access points are configured to verify downloads by their own CA. */
async function usesLocalCertificates(changed: Partial<Config>, dataDir?: string): Promise<boolean> {
  const config = { ...parseConfig({}), ...changed }
  return (await openTls(config, dataDir ?? (await temporaryDir()))).localCertificates
}

it('the self-signed certificate has the further names, and is replaced when they change', async () => {
  const dataDir = await temporaryDir()
  const namesWith = async (tlsNames: readonly string[]) => {
    const { http } = await openTls({ ...parseConfig({}), tls: 'self-signed', tlsNames }, dataDir)
    return new X509Certificate(http?.cert ?? '').subjectAltName
  }
  expect(await namesWith(['api.example.net', '10.0.0.5'])).toMatch(/DNS:api\.example\.net.*IP Address:10\.0\.0\.5/)
  expect(await namesWith(['other.example.net'])).toContain('DNS:other.example.net')
})

it('agents get the CA of the HTTPS server only if it is the CA of this service', async () => {
  const dataDir = await temporaryDir()
  const httpCa = async (changed: Partial<Config>) => (await openTls({ ...parseConfig({}), ...changed }, dataDir)).httpCa
  const own = (await loadDeviceCa(dataDir)).certificatePem
  const operators = await issueGatewayTls(await makeCa(), ['signalbox.example.net'])
  expect(await httpCa({ tls: 'self-signed' })).toBe(own)
  expect(await httpCa({ tls: 'self-signed', ucentralTls: operators })).toBe(own)
  expect(await httpCa({ tls: operators, ucentralTls: operators })).toBe(operators.ca)
  expect(await httpCa({ tls: operators })).toBeNull()
  expect(await httpCa({ tls: 'off' })).toBeNull()
})

describe('access points verify downloads by their own CA', () => {
  it('if the built-in CA signed the self-signed certificate of the HTTPS server', async () => {
    expect(await usesLocalCertificates({ tls: 'self-signed' })).toBe(true)
  })

  it('if it signed the certificate of the operator', async () => {
    const dataDir = await temporaryDir()
    const { cert, key } = await issueGatewayTls(await loadDeviceCa(dataDir), ['signalbox.example.net'])
    expect(await usesLocalCertificates({ tls: { cert, key } }, dataDir)).toBe(true)
    const ucentralTls = await issueGatewayTls(await makeCa(), ['signalbox.example.net'])
    expect(await usesLocalCertificates({ tls: { cert, key }, ucentralTls }, dataDir)).toBe(false)
    expect(await usesLocalCertificates({ tls: ucentralTls, ucentralTls })).toBe(true)
  })

  it('if it is the root of the operator and the certificate comes with the intermediate one', async () => {
    const root = await makeCa()
    const between = await issueCertificate(root, 'CN=Between', true)
    const leaf = await issueCertificate(between, 'CN=signalbox.example.net')
    const ucentralTls = await issueGatewayTls(root, ['signalbox.example.net'])
    const chain = { cert: `${leaf.certificatePem}\n${between.certificatePem}\n`, key: leaf.keyPem }
    expect(await usesLocalCertificates({ tls: chain, ucentralTls })).toBe(true)
    expect(await usesLocalCertificates({ tls: { ...chain, cert: leaf.certificatePem }, ucentralTls })).toBe(false)
  })

  it('but not over plain HTTP or with a certificate of another CA', async () => {
    expect(await usesLocalCertificates({ tls: 'off' })).toBe(false)
    const other = await issueGatewayTls(await makeCa(), ['signalbox.example.net'])
    expect(await usesLocalCertificates({ tls: other })).toBe(false)
    // The built-in CA signs a self-signed certificate; devices of another PKI do not trust it.
    expect(await usesLocalCertificates({ tls: 'self-signed', ucentralTls: other })).toBe(false)
  })
})
