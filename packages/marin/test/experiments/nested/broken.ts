throw new Error("this script cannot be loaded");
export {};
