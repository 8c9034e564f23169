/** The agent's own process, under the names that every Prometheus client library uses. All come from memory or /proc/self. */
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import type { Family } from "../lib/metrics.ts";

export function processFamilies(): Family[] {
  const { user, system } = process.cpuUsage();
  return [
    family(
      "process_cpu_seconds_total",
      "counter",
      "CPU time of the agent, in user and system mode.",
      (user + system) / 1e6,
    ),
    family(
      "process_resident_memory_bytes",
      "gauge",
      "Resident memory of the agent.",
      process.memoryUsage.rss(),
    ),
    family("process_open_fds", "gauge", "Open file descriptors of the agent.", openFiles()),
    family("process_max_fds", "gauge", "The most file descriptors that the agent may open.", mostOpenFiles()),
    family(
      "process_start_time_seconds",
      "gauge",
      "When the agent started.",
      Math.round(Date.now() / 1000 - process.uptime()),
    ),
  ];
}

function family(name: string, type: "counter" | "gauge", help: string, value: number | undefined): Family {
  return { name, help, type, values: value === undefined ? [] : [{ value }] };
}

/** The descriptors without the one that reads the folder. */
function openFiles(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return undefined;
  }
}

function mostOpenFiles(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
