import { deviceConfigOperations } from '../../devices/configs/routes.ts'
import { deviceEventOperations } from '../../devices/events/routes.ts'
import { inventoryOperations } from '../../devices/inventory/routes.ts'
import { deviceOperations } from '../../devices/routes.ts'
import { deviceSearchOperations } from '../../devices/search/routes.ts'
import { deviceStatsOperations } from '../../devices/stats/routes.ts'
import { telemetryOperations } from '../../devices/telemetry/routes.ts'
import { totalsOperations } from '../../devices/totals/routes.ts'
import { mayRunApart } from '../../http/apart/run-apart.ts'
import type { Operation } from '../../http/operation.ts'
import { mapOperations } from '../../maps/routes.ts'
import { alarmOperations } from '../../orgs/alarms/routes.ts'
import { auditLogOperations } from '../../orgs/audit-log/routes.ts'
import { orgSettingOperations } from '../../orgs/org-settings/routes.ts'
import { orgOperations, siteOperations } from '../../orgs/routes.ts'
import { siteGroupOperations } from '../../orgs/site-groups/routes.ts'
import { siteSearchOperations } from '../../orgs/site-search/routes.ts'
import { siteSettingOperations } from '../../orgs/site-settings/routes.ts'
import { systemEventOperations } from '../../orgs/system-events/routes.ts'
import type { Context } from '../../platform/context.ts'

/**
 * The operations that need nothing but the context, and have large documents, long lists or searches. The process of
 * expensive requests loads no others, so that it starts within a third of a second.
 */
export function dataOperations(ctx: Context): Operation[] {
  return [
    ...orgOperations,
    ...siteOperations(ctx),
    ...siteSearchOperations,
    ...siteGroupOperations,
    ...orgSettingOperations,
    ...siteSettingOperations,
    ...auditLogOperations,
    ...systemEventOperations,
    ...alarmOperations,
    ...inventoryOperations,
    ...deviceOperations,
    ...deviceSearchOperations,
    ...deviceEventOperations,
    ...deviceConfigOperations,
    ...deviceStatsOperations,
    ...totalsOperations,
    ...telemetryOperations,
    ...mapOperations,
  ]
}

/** Those of them that the process of expensive requests runs. */
export function apartOperations(ctx: Context): Operation[] {
  return dataOperations(ctx).filter(mayRunApart)
}
