import { join } from 'node:path'
import { MAX_SUPPORT_FILE_BYTES, type SupportFiles } from '../devices/support/support-files.ts'
import type { FirmwareFiles } from '../firmware/firmware.ts'
import type { Context } from '../platform/context.ts'
import { DEFAULT_DECODE_LIMITS } from '../platform/images/decoder-limits.ts'
import { DEFAULT_MAX_IMAGE_BYTES, type ImageFiles } from '../platform/images/image-files.ts'
import { type DiskSpace, createDiskSpace } from '../platform/storage/disk-space.ts'
import { createS3Store } from '../platform/storage/s3-store.ts'
import { getStorageUsage } from '../platform/storage/store-usage.ts'
import { createUploadQuota } from '../platform/storage/upload-quota.ts'
import type { StorageSettings } from './config/config-storage.ts'

/** The storage of uploads, and its limits. */
export interface Storage {
  readonly firmwareFiles: FirmwareFiles
  readonly imageFiles: ImageFiles
  readonly supportFiles: SupportFiles
  readonly disk: DiskSpace
  readonly settings: StorageSettings
}

/** @param dataDir Absolute. */
export function openStorage(ctx: Pick<Context, 'db' | 'log'>, dataDir: string, settings: StorageSettings): Storage {
  const disk = createDiskSpace(dataDir, settings.diskReserveBytes)
  const firmwareFiles = {
    dir: join(dataDir, 'firmware'),
    maxBytes: settings.firmwareMaxBytes,
    trust: settings.firmwareTrust,
    objects: settings.s3 === null ? undefined : createS3Store(ctx.log, settings.s3),
    quota: createUploadQuota({
      ...settings.firmware,
      field: 'body',
      what: 'firmware images',
      getUsage: (orgId) => getStorageUsage(ctx.db, 'firmware', orgId),
      disk,
    }),
  }
  const imageFiles = {
    dir: join(dataDir, 'images'),
    maxBytes: DEFAULT_MAX_IMAGE_BYTES,
    decode: DEFAULT_DECODE_LIMITS,
    quota: createUploadQuota({
      ...settings.pictures,
      field: 'file',
      what: 'pictures',
      getUsage: (orgId) => getStorageUsage(ctx.db, 'pictures', orgId),
      disk,
    }),
  }
  const supportFiles = {
    dir: join(dataDir, 'support'),
    maxBytes: MAX_SUPPORT_FILE_BYTES,
    quota: createUploadQuota({
      ...settings.support,
      field: 'data',
      what: 'support files',
      getUsage: (orgId) => getStorageUsage(ctx.db, 'support', orgId),
      disk,
    }),
  }
  return { firmwareFiles, imageFiles, supportFiles, disk, settings }
}
