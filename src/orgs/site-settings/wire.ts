import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Document } from '../../platform/json/document.ts'
import type { SiteSetting } from '../org-settings/store.ts'
import { commonSettings } from '../org-settings/wire.ts'

export const SiteSettingBody = named('SiteSettingUpdate', Type.Object(commonSettings, { additionalProperties: true }))
export const SiteSettingReply = named(
  'SiteSetting',
  Type.Object(
    {
      id: Type.String({ format: 'uuid', description: 'of the site' }),
      org_id: Uuid,
      site_id: Uuid,
      for_site: Type.Boolean(),
      ...commonSettings,
      created_time: Type.Optional(Timestamp),
      modified_time: Type.Optional(Timestamp),
    },
    { additionalProperties: true },
  ),
)

export interface ShownSetting {
  readonly orgId: string
  readonly siteId: string
  /** The stored settings of the site itself. */
  readonly setting: SiteSetting | undefined
  /** The document to show: the site's own, or the effective one. */
  readonly doc: Document
}

export function presentSiteSetting({ orgId, siteId, setting, doc }: ShownSetting): Static<typeof SiteSettingReply> {
  return {
    ...doc,
    id: siteId,
    org_id: orgId,
    site_id: siteId,
    for_site: true,
    ...(setting !== undefined && {
      created_time: epochS(setting.createdAt),
      modified_time: epochS(setting.modifiedAt),
    }),
  }
}
