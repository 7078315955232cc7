import { describe, expect, it } from 'vitest'
import { type Config, parseConfig } from '../../src/app/config.ts'
import { openTls } from '../../src/app/tls.ts'
import { issueGatewayTls, loadDeviceCa, makeCa } from '../../src/gateway/device-ca.ts'
import { issueCertificate } from '../support/client-certificates.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** Whether access points are told to verify downloads by their own CA. */
async function usesLocalCertificates(changed: Partial<Config>, dataDir?: string): Promise<boolean> {
  const config = { ...parseConfig({}), ...changed }
  return (await openTls(config, dataDir ?? (await temporaryDir()))).localCertificates
}

describe('downloads are verified by the CA of devices', () => {
  it('where that signed the HTTPS server: a self-made certificate of the built-in CA', async () => {
    expect(await usesLocalCertificates({ tls: 'self-signed' })).toBe(true)
  })

  it('where it signed a certificate of the operator', async () => {
    const dataDir = await temporaryDir()
    const { cert, key } = await issueGatewayTls(await loadDeviceCa(dataDir), ['signalbox.example.net'])
    expect(await usesLocalCertificates({ tls: { cert, key } }, dataDir)).toBe(true)
    const ucentralTls = await issueGatewayTls(await makeCa(), ['signalbox.example.net'])
    expect(await usesLocalCertificates({ tls: { cert, key }, ucentralTls }, dataDir)).toBe(false)
    expect(await usesLocalCertificates({ tls: ucentralTls, ucentralTls })).toBe(true)
  })

  it('where that is the root of the operator, and the certificate comes with the one between them', async () => {
    const root = await makeCa()
    const between = await issueCertificate(root, 'CN=Between', true)
    const leaf = await issueCertificate(between, 'CN=signalbox.example.net')
    const ucentralTls = await issueGatewayTls(root, ['signalbox.example.net'])
    const chain = { cert: `${leaf.certificatePem}\n${between.certificatePem}\n`, key: leaf.keyPem }
    expect(await usesLocalCertificates({ tls: chain, ucentralTls })).toBe(true)
    expect(await usesLocalCertificates({ tls: { ...chain, cert: leaf.certificatePem }, ucentralTls })).toBe(false)
  })

  it('and not over plain HTTP, or with a certificate of another CA', async () => {
    expect(await usesLocalCertificates({ tls: 'off' })).toBe(false)
    const other = await issueGatewayTls(await makeCa(), ['signalbox.example.net'])
    expect(await usesLocalCertificates({ tls: other })).toBe(false)
    // A self-made certificate comes from the built-in CA, which devices of another PKI do not know.
    expect(await usesLocalCertificates({ tls: 'self-signed', ucentralTls: other })).toBe(false)
  })
})
