/** Every benchmark, in the order in which they run. */
import type { Benchmark } from "./benchmark.ts";
import { applyToRunning } from "./figures/apply-to-running.ts";
import { binds } from "./figures/binds.ts";
import { cgroupStats } from "./figures/cgroup-stats.ts";
import { churn } from "./figures/churn.ts";
import { fleet } from "./figures/fleet.ts";
import { footprint } from "./figures/footprint.ts";
import { guest } from "./figures/guest.ts";
import { health } from "./figures/health.ts";
import { idle } from "./figures/idle.ts";
import { logRotation } from "./figures/log-rotation.ts";
import { probes } from "./figures/probes.ts";
import { requests } from "./figures/requests.ts";
import { scheduler } from "./figures/scheduler.ts";
import { setsPlan } from "./figures/sets-plan.ts";
import { starts } from "./figures/starts.ts";
import { volume } from "./figures/volume.ts";

export const benchmarks: Benchmark[] = [
  applyToRunning,
  starts,
  probes,
  churn,
  idle,
  volume,
  requests,
  fleet,
  scheduler,
  binds,
  setsPlan,
  health,
  guest,
  cgroupStats,
  logRotation,
  footprint,
];
