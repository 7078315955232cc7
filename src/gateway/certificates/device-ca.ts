import 'reflect-metadata'
import { randomBytes, webcrypto } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { isIP } from 'node:net'
import { dirname, join } from 'node:path'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralNames,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  type Name,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { AppError } from '../../platform/errors.ts'
import { readIfThere, sync, writeWhole } from '../../platform/storage/files.ts'
import { gatewayCommonName } from './gateway-name.ts'

/** PEM texts; the key is PKCS #8. */
export interface KeyPairPem {
  readonly certificatePem: string
  readonly keyPem: string
}

/** Configures the gateway's TLS listener, from the operator's files or from the built-in CA. */
export interface GatewayTls {
  /** PEM of the CA that issues the accepted device certificates. */
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Signs device certificates and the gateway's own. */
export interface DeviceCa extends KeyPairPem {
  readonly certificate: X509Certificate
  readonly signingKey: webcrypto.CryptoKey
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** A device without a clock starts at the build date of its firmware, so certificates must be valid at that date. */
const NOT_BEFORE = new Date('2020-01-01T00:00:00Z')
const CA_YEARS = 30
const LEAF_YEARS = 10

/**
 * The installation's device CA, made at the first start: `device-ca/ca.pem` and `ca.key` (mode 0600)
 * in the data folder.
 *
 * @throws AppError `unavailable` when only one of the two files exists. A new CA would lock out
 *         every device, so the operator has to decide.
 */
export async function loadDeviceCa(dataDir: string): Promise<DeviceCa> {
  const folder = join(dataDir, 'device-ca')
  const certPath = join(folder, 'ca.pem')
  const keyPath = join(folder, 'ca.key')
  const [certificatePem, keyPem] = await Promise.all([readIfThere(certPath), readIfThere(keyPath)])
  if (certificatePem !== null && keyPem !== null) return openCa({ certificatePem, keyPem })
  // A start that ended between the two files leaves a key without a certificate; that key has signed nothing yet.
  if (certificatePem !== null) throw new AppError('unavailable', `device CA: ${certPath} is there, but not ${keyPath}`)
  const made = await makeCa()
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await sync(dirname(folder))
  await writeWhole(keyPath, made.keyPem)
  await writeWhole(certPath, made.certificatePem, 0o644)
  return made
}

/**
 * Opens the CA in a folder with `ca.pem` and `ca.key`. It does not create a missing one.
 *
 * @throws AppError `unavailable` when either file is missing.
 */
export async function openDeviceCa(folder: string): Promise<DeviceCa> {
  const [certificatePem, keyPem] = await Promise.all(
    ['ca.pem', 'ca.key'].map((name) => readIfThere(join(folder, name))),
  )
  if (certificatePem && keyPem) return openCa({ certificatePem, keyPem })
  throw new AppError('unavailable', `device CA: ${folder} does not contain both ca.pem and ca.key`)
}

/** Creates a CA and writes it nowhere. */
export async function makeCa(): Promise<DeviceCa> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await signCa({ keys, name: 'CN=Signalbox device CA', at: new Date() })
  const keyPem = await exportKey(keys.privateKey)
  return { certificate, signingKey: keys.privateKey, certificatePem: certificate.toString('pem'), keyPem }
}

/**
 * Returns the CA with another certificate, for the same key and name. Either certificate proves what the CA has signed and
 * will sign, so nothing that trusts the former one needs the new one before the former one ends.
 * @param at When its thirty years begin.
 */
export async function renewCa(ca: DeviceCa, at: Date): Promise<DeviceCa> {
  const keys = { privateKey: ca.signingKey, publicKey: await ca.certificate.publicKey.export(webcrypto) }
  const certificate = await signCa({ keys, name: ca.certificate.subjectName, at })
  return { ...ca, certificate, certificatePem: certificate.toString('pem') }
}

interface CaSubject {
  readonly keys: webcrypto.CryptoKeyPair
  readonly name: string | Name
  readonly at: Date
}

async function signCa({ keys, name, at }: CaSubject): Promise<X509Certificate> {
  return X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: newSerialNumber(),
      name,
      notBefore: NOT_BEFORE,
      notAfter: inYears(CA_YEARS, at),
      keys,
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  )
}

async function openCa(pem: KeyPairPem): Promise<DeviceCa> {
  const key = PemConverter.decodeFirst(pem.keyPem)
  const signingKey = await webcrypto.subtle.importKey('pkcs8', key, algorithm, false, ['sign'])
  return { ...pem, certificate: new X509Certificate(pem.certificatePem), signingKey }
}

/**
 * The switch client uses everything after the first ten characters of OpenSSL's one-line subject as its
 * serial number. `/O=TIP/CN=` has exactly ten, and the common name must come last.
 * Source: ols-ucentral-client, `client_config_read`.
 */
const DEVICE_ORGANIZATION = 'TIP'

/**
 * @param mac Lower-case hex without separators: the certificate's CN, which is the device's identity.
 * @param at When its ten years begin.
 */
export function issueDeviceCertificate(ca: DeviceCa, mac: string, at = new Date()): Promise<KeyPairPem> {
  const subject = [{ O: [DEVICE_ORGANIZATION] }, { CN: [mac] }]
  return issue(ca, { subject, at }, [new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth])])
}

/**
 * Issues a key and a certificate for the gateway and writes them nowhere.
 *
 * @param hosts Names and addresses under which clients reach the server; devices use the first.
 */
export async function issueGatewayTls(
  ca: DeviceCa,
  hosts: readonly [string, ...(readonly string[])],
): Promise<GatewayTls> {
  const names = hosts.map((host): JsonGeneralNames[number] => ({ type: isIP(host) === 0 ? 'dns' : 'ip', value: host }))
  const { certificatePem, keyPem } = await issue(
    ca,
    { subject: [{ CN: [gatewayCommonName(hosts[0])] }], at: new Date() },
    [new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]), new SubjectAlternativeNameExtension(names)],
  )
  return { ca: ca.certificatePem, cert: certificatePem, key: keyPem }
}

async function issue(
  ca: DeviceCa,
  leaf: Omit<Leaf, 'publicKey'>,
  extensions: readonly Extension[],
): Promise<KeyPairPem> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificatePem = await signLeaf(ca, { ...leaf, publicKey: keys.publicKey }, extensions)
  return { certificatePem, keyPem: await exportKey(keys.privateKey) }
}

interface Leaf {
  readonly subject: JsonName
  readonly publicKey: webcrypto.CryptoKey
  /** When its ten years begin; it is valid before, too, for devices without a clock. */
  readonly at: Date
}

/** @returns PEM of the certificate. */
export async function signLeaf(
  ca: DeviceCa,
  { subject, publicKey, at }: Leaf,
  extensions: readonly Extension[],
): Promise<string> {
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: newSerialNumber(),
      subject,
      issuer: ca.certificate.subject,
      notBefore: NOT_BEFORE,
      // A certificate counts no longer than that of its CA.
      notAfter: earlier(inYears(LEAF_YEARS, at), ca.certificate.notAfter),
      publicKey,
      signingKey: ca.signingKey,
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        await AuthorityKeyIdentifierExtension.create(ca.certificate, false, webcrypto),
        ...extensions,
      ],
    },
    webcrypto,
  )
  return certificate.toString('pem')
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')
}

/** Returns 16 random bytes in hex. The first bit is 0, because a serial number is a positive integer. */
function newSerialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0] ?? 0) & 0x7f
  return bytes.toString('hex')
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other
}

function inYears(years: number, from = new Date()): Date {
  const date = new Date(from)
  date.setUTCFullYear(date.getUTCFullYear() + years)
  return date
}
