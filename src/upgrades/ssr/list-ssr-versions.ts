import type { OrgScope } from '../../access/scope.ts'
import { plainMac } from '../../devices/device.ts'
import { isSsrModel } from '../../devices/registry/models.ts'
import type { CatalogVersion } from '../../firmware/firmware.ts'
import { listVersions } from '../../firmware/store.ts'
import type { Reader } from '../../platform/database/db.ts'
import { invalidField } from '../../platform/errors.ts'
import { findVersion } from '../planning/plan-versions.ts'
import type { Channel } from './ssr-upgrade.ts'
import { findModel } from './store.ts'

export interface SsrVersion extends Pick<CatalogVersion, 'model' | 'version' | 'tag'> {
  /** An upgrade from the channel installs it. */
  readonly isDefault: boolean
}

export interface VersionChoice {
  readonly channel: Channel
  /** As the client wrote it; null: the versions for all models. */
  readonly mac: string | null
}

/**
 * Lists the versions of a channel for SSR routers, by model, newest first.
 * @throws AppError invalid naming `mac`.
 */
export async function listSsrVersions(
  reader: Reader,
  scope: OrgScope,
  { channel, mac }: VersionChoice,
): Promise<SsrVersion[]> {
  const model = mac === null ? null : await getSsrModel(reader, scope, mac)
  const catalog = (await listVersions(reader, scope)).filter((entry) => isSsrModel(entry.model))
  return catalog
    .filter(
      (entry) => (entry.tag === channel || entry.channel === channel) && (model === null || entry.model === model),
    )
    .map((entry) => {
      const isDefault = findVersion(catalog, entry.model, channel)?.version === entry.version
      return { model: entry.model, version: entry.version, tag: entry.tag, isDefault }
    })
}

async function getSsrModel(reader: Reader, scope: OrgScope, text: string): Promise<string> {
  const mac = plainMac(text)
  const model = await findModel(reader, scope, mac)
  if (model === undefined) throw invalidField('mac', `there is no device ${mac} in this organization`)
  if (!isSsrModel(model)) throw invalidField('mac', `${mac} has the model ${model}, which is no SSR router`)
  return model
}
