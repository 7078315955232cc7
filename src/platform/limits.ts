/**
 * How much the operator allows each account, organization and site to have. Each noun adds its limits in its limits.ts;
 * app/config-limits.ts has the settings.
 */
export interface Limits {}
