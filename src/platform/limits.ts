/**
 * The operator's limits for each account, organization and site. Each noun adds its limits in its limits.ts;
 * app/config/config-limits.ts has the settings.
 */
export interface Limits {}
