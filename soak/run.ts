import { runMeasurement } from '../scripts/run-measurement.ts'

await runMeasurement(import.meta.dirname, 'soak')
