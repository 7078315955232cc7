import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Type } from 'typebox'
import type { SignatureTrust } from '../../firmware/uploads/check-signature.ts'
import { DEFAULT_DOWNLOAD_LIMITS, type DownloadLimits } from '../../firmware/downloads/download-limits.ts'
import { parseEd25519Key } from '../../platform/ed25519.ts'
import { AppError } from '../../platform/errors.ts'
import { messageOf } from '../../platform/message-of.ts'

/** Settings for firmware besides its disk space; part of the environment of config.ts. */
export const firmwareEnvironment = {
  SIGNALBOX_FIRMWARE_KEYS: Type.Optional(
    Type.String({
      description:
        'PEM files, separated by commas: Ed25519 public keys, by one of which a signature of an upload must be',
    }),
  ),
  SIGNALBOX_FIRMWARE_SIGNATURES: Type.Optional(
    Type.Enum(['optional', 'required'], {
      description: 'required: refuse images without a signature; default optional',
    }),
  ),
  SIGNALBOX_FIRMWARE_SITE_KBPS: Type.Optional(
    Type.Integer({
      minimum: 64,
      maximum: 100_000_000,
      description: 'kilobits per second at which all devices of a site together download firmware; default no limit',
    }),
  ),
  SIGNALBOX_FIRMWARE_DOWNLOADS: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10_000, description: 'concurrent downloads of firmware; default 500' }),
  ),
}

const Firmware = Type.Object(firmwareEnvironment)

/** @throws AppError invalid naming the setting. */
export function parseFirmwareTrust(env: Type.Static<typeof Firmware>): SignatureTrust {
  const files = (env.SIGNALBOX_FIRMWARE_KEYS ?? '').split(',').map((file) => file.trim())
  const keys = files.filter((file) => file !== '').flatMap(readKeys)
  const isRequired = env.SIGNALBOX_FIRMWARE_SIGNATURES === 'required'
  if (isRequired && keys.length === 0)
    throw invalid('SIGNALBOX_FIRMWARE_SIGNATURES', 'is required, which needs SIGNALBOX_FIRMWARE_KEYS')
  return { keys, isRequired }
}

export function parseDownloadLimits(env: Type.Static<typeof Firmware>): DownloadLimits {
  const kbps = env.SIGNALBOX_FIRMWARE_SITE_KBPS
  return {
    ...DEFAULT_DOWNLOAD_LIMITS,
    siteBytesPerS: kbps === undefined ? null : (kbps * 1000) / 8,
    atOnce: env.SIGNALBOX_FIRMWARE_DOWNLOADS ?? DEFAULT_DOWNLOAD_LIMITS.atOnce,
  }
}

const block = /-----BEGIN PUBLIC KEY-----[^-]*-----END PUBLIC KEY-----/g

function readKeys(path: string): KeyObject[] {
  let pem: string
  try {
    pem = readFileSync(path, 'utf8')
  } catch (error) {
    throw invalid('SIGNALBOX_FIRMWARE_KEYS', `can't be read: ${messageOf(error)}`)
  }
  const keys = (pem.match(block) ?? []).map(parseEd25519Key)
  if (keys.length === 0 || keys.includes(null))
    throw invalid('SIGNALBOX_FIRMWARE_KEYS', `${path} has something else than Ed25519 public keys in PEM`)
  return keys.filter((key) => key !== null)
}

function invalid(name: string, why: string): AppError {
  return new AppError('invalid', `${name} ${why}`)
}
