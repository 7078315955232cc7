import { Type } from 'typebox'
import type { SignatureTrust } from '../../firmware/uploads/check-signature.ts'
import type { DownloadLimits } from '../../firmware/downloads/download-limits.ts'
import { firmwareEnvironment, parseDownloadLimits, parseFirmwareTrust } from './config-firmware.ts'

import type { S3Settings } from '../../platform/storage/s3-store.ts'
import { parseS3Settings, s3Environment } from './config-s3.ts'

const MIB = 1024 * 1024
const MAX_MIB = 1_000_000_000

const mebibytes = (minimum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum: MAX_MIB, description: `${description}, in MiB` }))

/** Settings for uploads; part of the environment of config.ts. */
export const storageEnvironment = {
  SIGNALBOX_FIRMWARE_MAX_MB: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'largest firmware image, in MiB; default 2048' }),
  ),
  SIGNALBOX_FIRMWARE_ORG_MAX_MB: mebibytes(0, 'firmware images of an organization; default 102400'),
  SIGNALBOX_FIRMWARE_TOTAL_MAX_MB: mebibytes(0, 'firmware images of all organizations; default 512000'),
  SIGNALBOX_PICTURES_ORG_MAX_MB: mebibytes(0, 'pictures of maps and devices of an organization; default 51200'),
  SIGNALBOX_PICTURES_TOTAL_MAX_MB: mebibytes(0, 'pictures of maps and devices of all organizations; default 204800'),
  SIGNALBOX_SUPPORT_ORG_MAX_MB: mebibytes(0, 'support files of the devices of an organization; default 1024'),
  SIGNALBOX_SUPPORT_TOTAL_MAX_MB: mebibytes(0, 'support files of all organizations; default 10240'),
  SIGNALBOX_DISK_RESERVE_MB: mebibytes(0, 'free disk space below which uploads are refused; default 2048'),
  ...firmwareEnvironment,
  ...s3Environment,
}

const Storage = Type.Object(storageEnvironment)

/** The limits for files of one kind. */
export interface StorageLimits {
  /** Limit of each organization. */
  readonly orgMaxBytes: number
  /** Limit of all organizations together. */
  readonly totalMaxBytes: number
}

export interface StorageSettings {
  /** Limit of a single image. */
  readonly firmwareMaxBytes: number
  readonly firmwareTrust: SignatureTrust
  readonly firmwareDownloads: DownloadLimits
  /** Null: images are in the data folder. */
  readonly s3: S3Settings | null
  readonly firmware: StorageLimits
  readonly pictures: StorageLimits
  readonly support: StorageLimits
  /** Free space to keep on the disk of the data folder. */
  readonly diskReserveBytes: number
}

export function parseStorageSettings(env: Type.Static<typeof Storage>): StorageSettings {
  const firmwareMaxBytes = (env.SIGNALBOX_FIRMWARE_MAX_MB ?? 2048) * MIB
  return {
    firmwareMaxBytes,
    s3: parseS3Settings(env, firmwareMaxBytes),
    firmwareTrust: parseFirmwareTrust(env),
    firmwareDownloads: parseDownloadLimits(env),
    firmware: {
      orgMaxBytes: (env.SIGNALBOX_FIRMWARE_ORG_MAX_MB ?? 102_400) * MIB,
      totalMaxBytes: (env.SIGNALBOX_FIRMWARE_TOTAL_MAX_MB ?? 512_000) * MIB,
    },
    pictures: {
      orgMaxBytes: (env.SIGNALBOX_PICTURES_ORG_MAX_MB ?? 51_200) * MIB,
      totalMaxBytes: (env.SIGNALBOX_PICTURES_TOTAL_MAX_MB ?? 204_800) * MIB,
    },
    support: {
      orgMaxBytes: (env.SIGNALBOX_SUPPORT_ORG_MAX_MB ?? 1024) * MIB,
      totalMaxBytes: (env.SIGNALBOX_SUPPORT_TOTAL_MAX_MB ?? 10_240) * MIB,
    },
    diskReserveBytes: (env.SIGNALBOX_DISK_RESERVE_MB ?? 2048) * MIB,
  }
}
